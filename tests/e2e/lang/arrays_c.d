/* C arrays: constant and computed indexes, as globals, this-> and self->. */
#pragma D option quiet

int g[4]; this char t[8]; self short s[3]; int64_t big[2]; int i;
BEGIN
{
	g[0] = 5; g[3] = 7; g[1] = g[0] + g[3];
	printf("%d %d %d %d\n", g[0], g[1], g[2], g[3]);
	i = 2; g[i] = 99; g[i + 1]++; g[g[0] - 5] += 10;
	printf("%d %d %d\n", g[2], g[3], g[0]);
	this->t[0] = 'o'; this->t[1] = 'k'; printf("%s %c\n", this->t, this->t[1]);
	self->s[1] = -4; self->s[i] = 70000; printf("%d %d %d\n", self->s[0], self->s[1], self->s[2]);
	big[1] = -1; printf("%d %d %d\n", big[0], big[1], sizeof(big));
	exit(0);
}
