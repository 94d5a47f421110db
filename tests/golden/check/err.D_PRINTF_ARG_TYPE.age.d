BEGIN
{
	@c = count();
	@l = live(1, 2);
	printa("%@d %@age %@count\n", @l);
	printa("%@d %@d %@age\n", @l, @c);
}
