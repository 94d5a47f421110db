/* clear keeps the keys. */
#pragma D option quiet

BEGIN
{
	@c["a"] = count(); @c["b"] = count(); @m["m"] = min(5); @x["x"] = max(-5); @q["q"] = quantize(3); @v["v"] = avg(4);
	clear(@c); clear(@m); clear(@x); clear(@q); clear(@v);
	printa("%s %@d\n", @c); printa("%s %@d\n", @m); printa("%s %@d\n", @x); printa(@q); printa("%s %@d\n", @v);
	exit(0);
}
