/* A variable to which an operator is applied before any clause assigns it is an int64_t, as the predicates of the toolkit's iosnoop and iotop need it (d-language.md 3.5). */
#pragma D option quiet
BEGIN
/!self->x && !pending["a", 1] && !g && !this->t && ~h == -1 && -n == 0/
{
	ok = 1;
}
BEGIN
{
	self->x = 1; pending["a", 1]++; g = arg0; this->t = (char)4; h = (char)1; --n;
}
BEGIN
/pending["a", 1] > 0/
{
	printf("%d %d %d %d %d %d\n", ok, pending["a", 1], n, h, this->t, self->x);
	printf("%d %d %d %d %d %d\n", sizeof (self->x), sizeof (pending["a", 1]), sizeof (g), sizeof (this->t), sizeof (h), sizeof (n));
	exit(0);
}
