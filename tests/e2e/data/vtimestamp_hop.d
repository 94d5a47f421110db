/* Time on CPU never exceeds time, whichever CPU the thread is on (d-language.md 4.2). */
/* @@trigger: calls hop 20 */
#pragma D option quiet
self uint64_t t, v; int bad, n;
syscall::getppid:entry /pid == $target && self->t/
{
	this->ran = (int64_t)(vtimestamp - self->v);
	n++;
	bad += this->ran < 0 || this->ran > (int64_t)(timestamp - self->t) + 100000;
}
syscall::getppid:entry /pid == $target/ { self->t = timestamp; self->v = vtimestamp; }
END { printf("%d %d\n", n, bad); }
