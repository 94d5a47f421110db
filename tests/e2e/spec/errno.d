/* The idiom: what a call did shows only when it failed (d-language.md B.10). */
/* @@trigger: calls open 3 */
/* @@runtest-opts: -q */
#pragma D option nspec=4
syscall::openat:entry /pid == $target/ { self->spec = speculation(); }
syscall:::entry /self->spec/ { speculate(self->spec); this->path = copyinstr(arg1); printf("%s of %s\n", probefunc, this->path); }
syscall::openat:return /self->spec && errno != 0/ { speculate(self->spec); printf("failed: %d\n", errno); }
syscall::openat:return /self->spec && errno != 0/ { commit(self->spec); self->spec = 0; }
syscall::openat:return /self->spec && errno == 0/ { discard(self->spec); self->spec = 0; }
