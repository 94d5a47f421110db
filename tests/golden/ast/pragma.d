#!/usr/sbin/dtrace -qs
/* 1.6: control lines. */
#
#pragma D option quiet
#pragma D option bufsize=4m /* a comment */
  #  pragma	D  option strsize="256"
#pragma ident "@(#)x.d 1.0"
#ident "x"
#pragma once
#pragma D ident something
#pragma D depends_on library io.d
#pragma D depends_on module vmlinux /* a comment
   of two lines */
#pragma D depends_on provider io
#pragma D attributes Stable/Evolving/Common x
#pragma D attributes Stable x
#pragma D binding "1.6.1" x
#pragma D binding "1.0" translator
int x;
#!not a pragma
BEGIN
{
#pragma D attributes Private/Private/Unknown y
	y = 1;
}
