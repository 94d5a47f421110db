/* Several aggregations in one line: a line for every key of any of them. */
#pragma D option quiet

BEGIN
{
	@c["a"] = count(); @c["b"] = count(); @c["b"] = count(); @s["a"] = sum(10); @s["z"] = sum(-1); @m["b"] = max(5);
	printa(@c, @s, @m); printa("%-3s %@3d %@4d %@d\n", @c, @s, @m); printa("%s %@d %@d %@d\n", @c, @s); printa("%s %@d\n", @c, @s);
	exit(0);
}
