/* @@runtest-opts: -x strsize=16 */
/* Strings are cut at strsize, wherever they are made. */
#pragma D option quiet

string d[int];
BEGIN
{
	x = "0123456789abcdefghij"; printf("[%s] %d %d\n", x, strlen(x), sizeof(x));
	y = strjoin(x, "zz"); printf("[%s]\n", y);
	y = strjoin("01234567", "01234567"); printf("[%s]\n", y);
	d[1] = "fits in fifteen"; printf("[%s] %d\n", d[1], d[1] == "fits in fifteen");
	self->s = substr(x, 10); this->t = toupper(x); printf("[%s] [%s]\n", self->s, this->t);
	printf("%d %d\n", x == "0123456789abcde", index(x, "e"));
	exit(0);
}
