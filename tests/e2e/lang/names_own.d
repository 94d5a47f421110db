/* Scripts that use the names of strerrno() and its kin for something else: they do not know them. */
#pragma D option quiet
inline string strerrno[int e] = e == 2 ? "mine" : "another";
int strflags;

BEGIN
{
	strerror = 5;
	strsignal[2] = "two";
	strflags = 7;
	self->strerror = 8;
	printf("%s %d %s %d %d\n", strerrno[2], strerror, strsignal[2], strflags, self->strerror);
	exit(0);
}
