/* Tuples of one to ten keys of all types; a different key in any place is another element, also one that differs beyond the first key's type. */
#pragma D option quiet

BEGIN
{
	a["x"] = 1; a["y"] = 2;
	printf("%d %d %d\n", a["x"], a["y"], a["z"]);
	b[1, "s", 'c', (short)2, (uint64_t)3, pid, execname, -5, (char)6, 7] = "ten";
	printf("[%s]", b[1, "s", 'c', (short)2, (uint64_t)3, pid, execname, -5, (char)6, 7]);
	printf("[%s]", b[2, "s", 'c', (short)2, (uint64_t)3, pid, execname, -5, (char)6, 7]);
	printf("[%s]", b[1, "t", 'c', (short)2, (uint64_t)3, pid, execname, -5, (char)6, 7]);
	printf("[%s]\n", b[1, "s", 'c', (short)2, (uint64_t)3, pid, execname, -5, (char)6, 8]);
	c[-1] = 1; c[0xffffffff] += 5; printf("%d\n", c[-1]);
	d["", 1] = 3; d["long enough to be more than a few words of eight bytes each", 1] = 4;
	printf("%d %d %d\n", d["", 1], d["", 2], d["long enough to be more than a few words of eight bytes each", 1]);
	exit(0);
}
