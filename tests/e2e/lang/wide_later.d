/* "last = 0" in BEGIN does not cut what is assigned later: such a variable holds 64 bits; one that only gets ints is an int. */
#pragma D option quiet

int last[int]; /* an int that gets a time */
int cut;

BEGIN
{
	start = 0; self->start = 0; this->at = 0; seen[""] = 0; total = 0; n = 0; declared[1] = 0; last[1] = 1; either = -1; same = 0;
}

BEGIN
{
	start = timestamp; self->start = timestamp + 1; this->at = 0x700000000; seen["x"] = walltimestamp;
	total += 3 * 0x100000000; last[1] = timestamp; cut = 0x300000001;
	either = arg0 == 0 ? 0x900000000 : 1;
	n++; n = n + pid; n = (int)timestamp; n = !start; same = same * 2 + 1;
	printf("%d %d %d %d\n", timestamp - start < 1000000000, timestamp + 1 - self->start < 1000000000, this->at == 0x700000000,
		walltimestamp - seen["x"] < 1000000000);
	printf("%d %d %d %d\n", total / 0x100000000, timestamp - last[1] < 1000000000, cut, either / 0x100000000);
	printf("%d %d %d %d\n", sizeof (start), sizeof (n), sizeof (same), sizeof (cut));
	exit(0);
}
