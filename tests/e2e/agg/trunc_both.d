/* trunc keeps the largest, the smallest or none. */
#pragma D option quiet

BEGIN
{
	@a["a"] = sum(1); @a["b"] = sum(2); @a["c"] = sum(3); @a["d"] = sum(4);
	trunc(@a, 3); printa("%s ", @a); trunc(@a, -2); printa("%s ", @a); trunc(@a, 9); printa("%s ", @a);
	trunc(@a); printa("%s ", @a); printf("|\n"); exit(0);
}
