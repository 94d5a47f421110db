#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who removes, renames and changes files?
 *
 * A line for each call that removes a name, gives it another, or changes mode, owner or length
 * of a file, with its result (0, or the error number). A path that does not begin with / is
 * relative to the program's folder. The tool for "who deletes my file?"
 */
BEGIN
{
	printf("%-20s %6s %-16s %-10s %3s %s\n", "TIME", "PID", "PROGRAM", "CALL", "ERR", "PATH");
}

syscall::unlink:entry, syscall::rmdir:entry, syscall::mkdir:entry, syscall::rename:entry,
syscall::chmod:entry, syscall::chown:entry, syscall::lchown:entry, syscall::truncate:entry
{
	self->path = arg0;
	self->to = probefunc == "rename" ? arg1 : 0;
}

syscall::unlinkat:entry, syscall::mkdirat:entry, syscall::renameat*:entry,
syscall::fchmodat*:entry, syscall::fchownat:entry
{
	self->path = arg1;
	self->to = strstr(probefunc, "renameat") != NULL ? arg3 : 0;
}

syscall::unlink*:return, syscall::rmdir:return, syscall::mkdir*:return, syscall::rename*:return,
syscall::chmod:return, syscall::chown:return, syscall::lchown:return, syscall::truncate:return,
syscall::fchmodat*:return, syscall::fchownat:return
/self->path/
{
	printf("%Y %6d %-16s %-10s %3d %s%s%s\n", walltimestamp, pid, execname, probefunc, errno,
	    copyinstr(self->path), self->to ? " -> " : "", self->to ? copyinstr(self->to) : "");
	self->path = 0;
	self->to = 0;
}
