#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How long do programs wait for their file systems?
 *
 * Histograms of the time that reads, writes, opens and synchronizations of files take, by type of file system, and the longest of
 * each, with its file; ^C prints them. Most reads come from memory and take a few microseconds: a second hill to the right is
 * the disk's, or the network's. Pipes, sockets and terminals are not files.
 */
inline int is_file[string FS] = FS != "pipefs" && FS != "sockfs" && FS != "devpts" && FS != "anon_inodefs" && FS != "<none>";

syscall::read:entry, syscall::pread64:entry, syscall::readv:entry, syscall::getdents64:entry,
syscall::write:entry, syscall::pwrite64:entry, syscall::writev:entry,
syscall::fsync:entry, syscall::fdatasync:entry
/is_file[fds[arg0].fi_fs]/
{
	self->fs = fds[arg0].fi_fs;
	self->file = fds[arg0].fi_pathname;
	self->began = timestamp;
}

syscall::openat:entry
{
	self->opening = timestamp;
}

syscall::openat:return
/self->opening && arg1 >= 0/
{
	this->us = (timestamp - self->opening) / 1000;
	@us[fds[arg1].fi_fs, "open, us"] = quantize(this->us);
	@longest[fds[arg1].fi_fs, "open", fds[arg1].fi_pathname] = max(this->us);
}

syscall::openat:return
{
	self->opening = 0;
}

syscall:::return
/self->began/
{
	this->us = (timestamp - self->began) / 1000;
	this->what = probefunc == "fsync" || probefunc == "fdatasync" ? "synchronize" : probefunc == "getdents64" ? "list" :
	    strstr(probefunc, "read") != NULL ? "read" : "write";
	@us[self->fs, strjoin(this->what, ", us")] = quantize(this->us);
	@longest[self->fs, this->what, self->file] = max(this->us);
	self->began = 0;
	self->fs = 0;
	self->file = 0;
}

END
{
	printa("%s %s%@d\n", @us);
	trunc(@longest, 20);
	printf("%-10s %-12s %12s %s\n", "ON", "LONGEST", "MICROSECONDS", "FILE");
	printa("%-10s %-12s %@12d %s\n", @longest);
}
