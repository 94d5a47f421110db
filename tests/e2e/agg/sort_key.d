/* @@runtest-opts: -x aggsortkey */
/* By key. */
#pragma D option quiet

BEGIN
{
	@a["x", 3] = sum(10); @a["y", 1] = sum(30); @a["z", 2] = sum(20);
	@b["x", 3] = sum(2); @b["y", 1] = sum(1); @b["z", 2] = sum(3);
	printa("%s %d %@d\n", @a); printa("%s %d %@d %@d\n", @a, @b);
	exit(0);
}
