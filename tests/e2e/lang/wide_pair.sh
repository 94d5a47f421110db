#!/bin/sh
# A script for programs of both sizes assigns a pointer of 4 bytes in one clause and one of 8 in the next: all of the latter is kept.
out=$("$DTRACE" -q -c "env true" -n '
syscall::execve:entry
/pid == $target && curpsinfo->pr_dmodel == PR_MODEL_ILP32/
{
	self->argv0 = *(uint32_t *)copyin(arg1, sizeof (uint32_t));
}
syscall::execve:entry
/pid == $target && curpsinfo->pr_dmodel == PR_MODEL_LP64/
{
	self->argv0 = *(uint64_t *)copyin(arg1, sizeof (uint64_t));
}
syscall::execve:entry
/self->argv0/
{
	printf("argv[0] is %s\n", copyinstr(self->argv0));
	self->argv0 = 0;
}' 2>&1)
echo "$out" | grep -qx "argv\[0\] is true" || { echo "$out"; exit 1; }
