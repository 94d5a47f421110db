/* By value, then by key; integer keys compare unsigned, strings byte by byte. */
#pragma D option quiet

BEGIN
{
	@i[-1] = count(); @i[1] = count(); @i[0x80000000] = count(); @i[0] = count(); @i[5] = count(); @i[5] = count();
	@s["b"] = count(); @s["B"] = count(); @s[""] = count(); @s["ab"] = count(); @s["a"] = count();
	@t["x", 2] = sum(1); @t["x", 1] = sum(1); @t["a", 9] = sum(1); @t["a", 0] = sum(-1);
	printa("%d:%@d ", @i); printf("\n"); printa("[%s] ", @s); printf("\n"); printa("%s%d ", @t); printf("\n");
	exit(0);
}
