/* normalize divides counts, not labels, until denormalize. */
#pragma D option quiet

BEGIN
{
	@q["q"] = quantize(100, 1000); @s["s"] = sum(2999); @a["a"] = avg(300); @a["a"] = avg(100); @c["c"] = count();
	normalize(@q, 10); normalize(@s, 1000); normalize(@a, 10); normalize(@c, 5);
	printa(@q); printa("%s %@d\n", @s); printa("%s %@d\n", @a); printa("%s %@d\n", @c);
	denormalize(@q); denormalize(@s); denormalize(@a);
	printa(@q); printa("%s %@d\n", @s); printa("%s %@d\n", @a);
	exit(0);
}
