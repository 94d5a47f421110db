#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What do clients ask of this machine's NFS server, and how long does it take?
 *
 * For each client and operation, how often it was asked for, how often that failed, and the average and longest time in microseconds;
 * then the bytes that each client has read and written, by file. Needs the kernel's module nfsd. Ends with ^C.
 */
nfsv3:::op-*-start, nfsv4:::op-*-start
{
	self->began = timestamp;
}

nfsv3:::op-[!n]*-done, nfsv4:::op-*-done
/self->began/
{
	this->us = (timestamp - self->began) / 1000;
	@n[args[0]->ci_remote, probeprov, probename] = count();
	@failed[args[0]->ci_remote, probeprov, probename] = sum(args[2]->status != 0);
	@average[args[0]->ci_remote, probeprov, probename] = avg(this->us);
	@longest[args[0]->ci_remote, probeprov, probename] = max(this->us);
	self->began = 0;
}

nfsv3:::op-read-done { @bytes[args[0]->ci_remote, "read", args[1]->noi_curpath] = sum(args[2]->res_u.ok.count); }
nfsv3:::op-write-done { @bytes[args[0]->ci_remote, "written", args[1]->noi_curpath] = sum(args[2]->res_u.ok.count); }
nfsv4:::op-read-done { @bytes[args[0]->ci_remote, "read", args[1]->noi_curpath] = sum(args[2]->data_len); }
nfsv4:::op-write-done { @bytes[args[0]->ci_remote, "written", args[1]->noi_curpath] = sum(args[2]->count); }

END
{
	printf("%-24s %-6s %-24s %8s %8s %10s %10s\n", "CLIENT", "", "OPERATION", "CALLS", "FAILED", "AVERAGE", "LONGEST");
	printa("%-24s %-6s %-24s %@8d %@8d %@10d %@10d\n", @n, @failed, @average, @longest);
	printf("\n%-24s %-8s %s\n", "CLIENT", "", "FILE: BYTES");
	printa("%-24s %-8s %s: %@d\n", @bytes);
}
