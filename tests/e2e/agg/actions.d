/* clear keeps keys, trunc removes them, normalize divides what is printed */
#pragma D option quiet
BEGIN
{
	@a["one"] = sum(1); @a["two"] = sum(2); @a["ten"] = sum(10);
	printa("%s %@d\n", @a);
	normalize(@a, 2);
	printa("n %s %@d\n", @a);
	denormalize(@a);
	trunc(@a, 2);
	printa("t %s %@d\n", @a);
	clear(@a);
	printa("c %s %@d\n", @a);
	trunc(@a);
	printa("none %s %@d\n", @a);
	exit(0);
}
