/* Time on CPU never goes back, nor beyond time, whenever the timer interrupts (d-language.md 4.2): some hundreds of times here. */
/* @@trigger: calls getppid 300000 */
#pragma D option quiet
self uint64_t t, v;
syscall::getppid:entry /pid == $target && self->t/
{
	this->v = vtimestamp;
	this->ran = (int64_t)(this->v - self->v);
	@n = count();
	@back = sum(this->ran < 0);
	@beyond = sum(this->ran > (int64_t)(timestamp - self->t) + 100000);
}
syscall::getppid:entry /pid == $target/ { self->t = timestamp; self->v = vtimestamp; }
END { printa("%@d %@d %@d\n", @n, @back, @beyond); }
