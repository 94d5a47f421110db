/* The path is arg0, whichever call opens the file; probefunc is what Linux calls it (providers.md 4.4). */
/* @@trigger: forms open */
#pragma D option quiet
syscall::open:entry, syscall::open64:entry
/pid == $target && (this->path = copyinstr(arg0)) != NULL && substr(this->path, 0, 4) == "/no/"/
{ printf("%s %s %o %o\n", probefunc, this->path, arg1, arg2); self->path = this->path; }
syscall::open:return, syscall::open64:return
/self->path != NULL/ { printf("%s %d %d %d\n", probefunc, (int)arg0 == -1, arg1, errno == ENOENT); self->path = 0; }
