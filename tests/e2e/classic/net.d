/* @@trigger: forms net */
#pragma D option quiet
syscall::so_socketpair:entry /pid == $target/ { printf("%s %d %d\n", probefunc, arg0 == 1, arg1 == 1); }
syscall::send:entry, syscall::recv:entry, syscall::send_nocancel:entry /pid == $target/ { self->n = arg2; self->data = arg1; }
syscall::send:return /self->n/ { printf("%s %d of %d: %s\n", probefunc, arg1, self->n, copyinstr(self->data, 5)); self->n = 0; }
syscall::recv:return /self->n/ { printf("%s %d of %d\n", probefunc, arg1, self->n); self->n = 0; }
