/*
 * A pattern in a program that reads arg0 as text shows openat() as open(), whose path is there, at the entry and at the return;
 * creat() is not matched, and open() is itself.
 */
/* @@trigger: forms open */
#pragma D option quiet
syscall::open*:entry /pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { printf("%s %s %o\n", probefunc, copyinstr(arg0), arg1); self->on = 1; }
syscall::open*:return /self->on/ { printf("%s returns %d\n", probefunc, errno); self->on = 0; }
