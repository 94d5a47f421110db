/* several aggregations in one printa: one line a key */
#pragma D option quiet
BEGIN
{
	@a["x"] = count(); @b["x"] = sum(40); @b["y"] = sum(50);
	printa("%s %@d %@d\n", @a, @b);
	exit(0);
}
