/* @@trigger: calls write 20 */
/* Time by call with an associative array in self->; several aggregations in one printa(). */
#pragma D option quiet
#pragma D option defaultargs
#pragma D option aggsortrev
dtrace:::BEGIN { interval = $1 ? $1 : 60; }
self uint64_t ts[string];
syscall::write*:entry, syscall::getppid:entry /pid == $target/ { self->ts[probefunc] = timestamp; @calls[probefunc] = count(); }
syscall::write*:return, syscall::getppid:return
/self->ts[probefunc]/
{
	@max[probefunc] = max(timestamp - self->ts[probefunc]);
	@avg[probefunc] = avg(timestamp - self->ts[probefunc]);
	@min[probefunc] = min(timestamp - self->ts[probefunc]);
	self->ts[probefunc] = 0;
}
profile:::tick-1sec { secs++; }
profile:::tick-1sec /secs >= interval/ { exit(1); }
dtrace:::END { trunc(@calls, 3); printa("%-10s %@5d\n", @calls); printa("%-10s %@10d >= %@10d >= %@10d\n", @max, @avg, @min); }
