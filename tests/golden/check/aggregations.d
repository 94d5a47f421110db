/* Aggregations: functions, parameters, keys, increments, actions on them (d-language.md 2.4, 5.5) */
BEGIN
{
	@ = count();
	@s[pid] = sum(arg0); @mi[execname, (char)1] = min(pid); @ma["x", 2l] = max(timestamp);
	@av[probefunc] = avg(3); @sd = stddev(curthread);
	@q = quantize(arg0); @q2 = quantize(arg0, arg1);
	@l = lquantize(arg0, -10, 10); @l2 = lquantize(arg0, 0, 100, 7, -1);
	@ll = llquantize(arg0, 10, 0, 3, 20); @ll2 = llquantize(arg0, 2, 1, 4, 2, 5);
	/* later keys are converted to the first ones, which have 64 bits where a later one needs more than the first (300 and a char) */
	@s[5l] = sum(1); @mi["y", 300] = min(1);
}
END
{
	printa(@s); printa("%d %@d\n", @s); printa("%s %@d %@d\n", @av, @av);
	clear(@s); trunc(@s); trunc(@s, 10); trunc(@s, -5l); normalize(@s, 1000); denormalize(@s);
}
