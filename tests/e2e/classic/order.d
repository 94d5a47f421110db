/* Clauses run in program order at each call, whatever name found it. */
/* @@trigger: forms open */
#pragma D option quiet
syscall::open:entry /pid == $target && copyinstr(arg0) == "/no/openat"/ { self->on = 1; printf("1"); }
syscall:::entry /self->on/ { printf("2 %s", probefunc); }
syscall::open:entry /self->on/ { printf(" 3"); }
syscall::open*:entry /self->on/ { printf(" 4"); }
syscall::open64:entry, syscall::open_nocancel:entry /self->on/ { printf(" 5"); }
syscall:::return /self->on/ { printf(" %s\n", probefunc); self->on = 0; }
