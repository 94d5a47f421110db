/* The path is read at the return, by way of a variable: newfstatat() and statx() are stat(), and not those that are fstat(). */
/* @@trigger: forms stat */
#pragma D option quiet
syscall::stat*:entry /pid == $target/ { self->path = arg0; self->was = probefunc; }
syscall::stat*:return /self->path && substr(copyinstr(self->path), 0, 4) == "/no/"/ { printf("%s %s %d\n", probefunc, stringof(copyinstr(self->path)), probefunc == self->was); }
syscall::stat*:return { self->path = 0; }
