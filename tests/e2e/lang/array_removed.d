/* Elements of an array whose elements are removed: stored to, overwritten, removed, stored to again; of a full array, too. */
#pragma D option quiet
#pragma D option dynvarsize=320

BEGIN
{
	ts[1] = 5;
	ts[1] = 6;
	printf("%d\n", ts[1]);
	ts[1] = 0;
	printf("%d\n", ts[1]);
	ts[1] = 7;
	ts[2] = 8;
	ts[1]++;
	printf("%d %d\n", ts[1], ts[2]);
	self->t[1] = 3;
	self->t[1] = 4;
	printf("%d\n", self->t[1]);
	self->t[1] = 0;
	self->t[1] = 2;
	printf("%d\n", self->t[1]);
}

BEGIN
{
	ts[3] = 1; ts[4] = 1; ts[5] = 1; ts[6] = 1; ts[7] = 1; ts[8] = 1; ts[9] = 1; ts[10] = 1; ts[11] = 1; ts[12] = 1;
	ts[1] = 70;
	printf("%d %s\n", ts[1], ts[12] == 0 ? "full" : "not full");
	ts[1] = 0;
	ts[12] = 12;
	printf("%d %d\n", ts[1], ts[12]);
	exit(0);
}
