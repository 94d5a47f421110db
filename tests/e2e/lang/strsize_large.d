/* @@runtest-opts: -x strsize=4096 */
/* Strings longer than a page of the stack. */
#pragma D option quiet

BEGIN
{
	x = "0123456789"; x = strjoin(x, x); x = strjoin(x, x); x = strjoin(x, x); x = strjoin(x, x); x = strjoin(x, x);
	x = strjoin(x, x); x = strjoin(x, x); x = strjoin(x, x); printf("%d\n", strlen(x));
	self->s = x; a["k"] = x; this->t = strjoin(x, "end");
	printf("%d %d %d %s\n", strlen(self->s), strlen(a["k"]), strlen(this->t), substr(this->t, 2555));
	printf("%d %d\n", index(this->t, "end"), self->s == a["k"]);
	x = strjoin(x, x); printf("%d\n", strlen(x));
	exit(0);
}
