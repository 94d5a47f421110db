/* @@trigger: calls getppid 2000000 */
/*
 * Interrupts fire inside other probes: both have their own machine state and share an aggregation, and
 * no count is lost.
 */
#pragma D option quiet

syscall::getppid:entry
/pid == $target/
{
	this->s = strjoin(execname, probefunc);
	@n[this->s == "callsgetppid" ? "right" : "wrong"] = count();
	@all["sum"] = sum(1);
}

profile-4999
{
	this->s = strjoin(execname, "-profile");
	@p[strstr(this->s, "-profile") != NULL ? "interrupts right" : "interrupts wrong"] = count();
	@all["sum"] = sum(0);
}

END
{
	printa("%s %@d\n", @n);
	printa("%s %@d\n", @all);
	printa("%s\n", @p);
}
