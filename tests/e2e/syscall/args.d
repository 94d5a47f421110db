/* @@trigger: calls read 100 */
#pragma D option quiet
syscall::read:entry
/pid == $target && arg2 <= 100 && execname == "calls"/
{
	self->want = arg2;
}

syscall::read:return
/self->want/
{
	@ok[probefunc, arg0 == self->want ? "same" : "less"] = count();
	@sum = sum(arg1);
	self->want = 0;
}

END { printa("%s %s %@d\n", @ok); printa("%@d\n", @sum); }
