/* avg truncates towards zero; stddev is the integer root of the variance. */
#pragma D option quiet

BEGIN
{
	@a["2.5"] = avg(2); @a["2.5"] = avg(3); @a["-2.5"] = avg(-2); @a["-2.5"] = avg(-3); @a["one"] = avg(7);
	@d["0"] = stddev(5); @d["0"] = stddev(5);
	@d["2"] = stddev(2); @d["2"] = stddev(4); @d["2"] = stddev(4); @d["2"] = stddev(4);
	@d["2"] = stddev(5); @d["2"] = stddev(5); @d["2"] = stddev(7); @d["2"] = stddev(9);
	exit(0);
}
