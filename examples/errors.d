#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What fails? Failing system calls by program, call and error.
 *
 * The argument, if given, is the program to look at: errors.d nginx. Read the last lines first:
 * the counts ascend. EAGAIN and EINTR are part of normal life; thousands of ENOENT are a search
 * path that is too long.
 */
#pragma D option defaultargs

BEGIN
{
	name[EIO] = "EIO";             name[EAGAIN] = "EAGAIN";       name[ESPIPE] = "ESPIPE";
	name[EPERM] = "EPERM";         name[ENOMEM] = "ENOMEM";       name[ENOSYS] = "ENOSYS";
	name[ESRCH] = "ESRCH";         name[EACCES] = "EACCES";       name[ENOTDIR] = "ENOTDIR";
	name[EINTR] = "EINTR";         name[EFAULT] = "EFAULT";       name[ENODATA] = "ENODATA";
	name[ENXIO] = "ENXIO";         name[EEXIST] = "EEXIST";       name[ENOTCONN] = "ENOTCONN";
	name[EBADF] = "EBADF";         name[ENODEV] = "ENODEV";       name[ENOTEMPTY] = "ENOTEMPTY";
	name[EBUSY] = "EBUSY";         name[EISDIR] = "EISDIR";       name[ETIMEDOUT] = "ETIMEDOUT";
	name[EROFS] = "EROFS";         name[EINVAL] = "EINVAL";       name[EADDRINUSE] = "EADDRINUSE";
	name[EPIPE] = "EPIPE";         name[EMFILE] = "EMFILE";       name[ECONNRESET] = "ECONNRESET";
	name[ENOENT] = "ENOENT";       name[ENOTTY] = "ENOTTY";       name[EINPROGRESS] = "EINPROGRESS";
	name[ECHILD] = "ECHILD";       name[ENOSPC] = "ENOSPC";       name[ECONNREFUSED] = "ECONNREFUSED";
}

syscall:::return
/errno && ($$1 == "" || execname == $$1)/
{
	@[execname, probefunc, name[errno] != NULL ? name[errno] : lltostr(errno)] = count();
}

END
{
	printf("%-16s %-24s %-14s %8s\n", "PROGRAM", "CALL", "ERROR", "COUNT");
	printa("%-16s %-24s %-14s %@8d\n", @);
}
