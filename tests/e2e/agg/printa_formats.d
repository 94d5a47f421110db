/* Widths, flags and conversions of keys and values. */
#pragma D option quiet

BEGIN
{
	@a["key", 7] = sum(42); @a["longer key", -7] = sum(-1);
	printa("%-12s|%5d|%@8d|\n", @a); printa("%12s|%-5d|%@-8d|\n", @a);
	printa("%s %x %@x\n", @a); printa("%.2s %05d %@05d\n", @a); printa("%@d first, then %s\n", @a);
	printa("%@d only\n", @a); printa("%@+d %@#o\n", @a);
	exit(0);
}
