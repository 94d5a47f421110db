/* Assignments are values, right to left; all compound forms on all kinds of variables. */
#pragma D option quiet

int g; self int s; this int t; int a[string];
BEGIN
{
	g = self->s = this->t = a["k"] = 6;
	printf("%d %d %d %d\n", g, self->s, this->t, a["k"]);
	g += self->s -= 2; printf("%d %d\n", g, self->s);
	this->t *= 7; this->t /= 4; this->t %= 6; printf("%d\n", this->t);
	a["k"] <<= 3; a["k"] >>= 1; a["k"] |= 1; a["k"] &= ~8; a["k"] ^= 3; printf("%d\n", a["k"]);
	printf("%d %d %d %d\n", g++, ++g, g--, --g);
	printf("%d %d %d %d\n", self->s++, self->s, ++this->t, a["n"]++);
	printf("%d\n", a["n"]);
	exit(0);
}
