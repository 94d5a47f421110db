/* A table of several aggregations, each cut on its own; what one has lost is 0 in its column. */
#pragma D option quiet
BEGIN
{
	@b["x", "y"] = sum(5); @c["x", "y"] = count(); @a["x", "y"] = avg(4);
	@b["z", "y"] = sum(50); @c["z", "y"] = count(); @c["z", "y"] = count(); @a["z", "y"] = avg(8);
	exit(0);
}
END
{
	trunc(@b, 5); trunc(@c, 1); printf("%-4s %4s\n", "KEY", "SUM");
	printa("%s%s %@d %@d %@d\n", @b, @c, @a);
}
