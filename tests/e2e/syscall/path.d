/* Which file was asked for, decided at return: a string kept between the probes. */
/* @@trigger: calls open 2 */
#pragma D option quiet

syscall::openat:entry /pid == $target/ { self->path = copyinstr(arg1); }
syscall::openat:return /self->path != NULL && self->path == "/no/such/file"/ { printf("%s %d %d %s\n", self->path, (int)arg0, errno == ENOENT, basename(self->path)); }
syscall::openat:return /self->path != NULL/ { self->path = 0; }
