#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which TCP segments are sent again, because no answer came?
 *
 * A line for each: where to, in which state the connection is, and the bytes that are sent again (0: a SYN). Many of them
 * to one address mean that the way there loses packets; in state syn-sent, that nobody answers there. Ends with ^C.
 */
BEGIN
{
	printf("%-24s %6s %-16s %s\n", "TO", "PORT", "STATE", "BYTES");
}

rawtp:::tcp_retransmit_skb
{
	this->s = xlate<tcpsinfo_t *>((struct sock *)args[0]);
	printf("%-24s %6d %-16s %d\n", this->s->tcps_raddr, this->s->tcps_rport,
	    substr(tcp_state_string[this->s->tcps_state], 6), args[1]->len);
}
