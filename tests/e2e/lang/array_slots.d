/* @@trigger: calls getppid 20000 */
/*
 * Arrays of which elements are removed: 5,000 elements, more than have slots of their own, are stored, read, removed, read again; with
 * keys of 4, 8, 12 and 16 bytes, among them 0 and -1, and numbers of 1, 4 and 8 bytes.
 */
#pragma D option quiet

int n, i;
char c[int];
int a[int];
long b[int, int], w[long], d[long, int];

BEGIN
{
	a[-1] = 1; a[0] = 2; w[-1] = 3; w[0] = 4; d[-1, -1] = 5; d[0, 0] = 6; b[-1, -1] = 7; b[0, 0] = 8; d[0, -1] = 9; d[-1, 0] = 10; c[-1] = -1;
	printf("%d %d %d %d %d %d %d %d %d %d %d\n",
	       a[-1], a[0], w[-1], w[0], d[-1, -1], d[0, 0], b[-1, -1], b[0, 0], d[0, -1], d[-1, 0], c[-1]);
	a[-1] = 0; a[0] = 0; w[-1] = 0; w[0] = 0; d[-1, -1] = 0; d[0, 0] = 0; b[-1, -1] = 0; b[0, 0] = 0; d[0, -1] = 0; d[-1, 0] = 0; c[-1] = 0;
	printf("%d %d %d %d %d %d %d %d %d %d %d\n",
	       a[-1], a[0], w[-1], w[0], d[-1, -1], d[0, 0], b[-1, -1], b[0, 0], d[0, -1], d[-1, 0], c[-1]);
	c[3] = 127;
	c[3]++;
	a[7] = 0x7fffffff;
	a[7]++;
	w[1] = 1;
	w[1]--;
	a[8] = a[7];
	printf("%d %d %d %d\n", c[3], a[7], w[1], a[8]);
	c[3] = 0; a[7] = 0; a[8] = 0;
}

syscall::getppid:entry
/pid == $target && n < 5000/
{
	a[n] = n + 1; b[n, n * 3] = n + 2; c[n] = -1 - (n & 63); w[n << 20] = n + 3; d[n << 32, -n] = n + 4; self->s[n] = n + 5;
	a[n]++; b[n, n * 3] += 10; d[n << 32, -n] *= 2;
}

syscall::getppid:entry
/pid == $target && n >= 5000 && n < 15000/
{
	i = n % 5000;
	@is[n / 5000] = sum(a[i] == i + 2 && b[i, i * 3] == i + 12 && c[i] == -1 - (i & 63) && w[i << 20] == i + 3 &&
			    d[i << 32, -i] == 2 * (i + 4) && self->s[i] == i + 5);
}

syscall::getppid:entry
/pid == $target && n >= 10000/
{
	i = n % 5000;
	a[i] = 0; b[i, i * 3] = 0; c[i] = 0; w[i << 20] = 0; d[i << 32, -i] = 0; self->s[i] = 0;
	@none[n / 5000] = sum(a[i] == 0 && b[i, i * 3] == 0 && c[i] == 0 && w[i << 20] == 0 && d[i << 32, -i] == 0 && self->s[i] == 0);
}

syscall::getppid:entry
/pid == $target/
{
	n++;
}

END
{
	printa("%d are there: %@d\n", @is);
	printa("%d are not: %@d\n", @none);
}
