/* @@trigger: calls read 40 */
/* Bytes by direction: globs that match more than is asked, cleared state, structures, ternaries of strings. */
#pragma D option quiet
struct io { string name; uint64_t bytes; int n; };
struct io last;
syscall::read:entry, syscall::write:entry, syscall::pread*:entry, syscall::pwrite*:entry, syscall::readv:entry, syscall::writev:entry
/pid == $target/
{
	self->fd = arg0 + 1; self->dir = strstr(probefunc, "read") != NULL ? "R" : "W";
}
syscall::*read*:return, syscall::*write*:return
/self->fd && arg0 != -1 && arg0 <= 40/
{
	last.name = execname; last.bytes += arg0; last.n++;
	@b[self->dir, last.name] = sum(arg0);
	@d[self->dir] = lquantize(arg0, 0, 40, 10);
	self->fd = 0; self->dir = 0;
}
syscall::*read*:return, syscall::*write*:return /self->fd/ { self->fd = 0; self->dir = 0; }
END { printf("%s %d %d\n", last.name, last.bytes, last.n); printa("   %-4s %-6s %@8d\n", @b); printa(@d); }
