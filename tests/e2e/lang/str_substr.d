/* substr: negative positions count from the end. */
#pragma D option quiet

BEGIN
{
	s = "abcdef";
	printf("[%s][%s][%s]\n", substr(s, 0), substr(s, 2), substr(s, 6));
	printf("[%s][%s][%s]\n", substr(s, 2, 2), substr(s, 4, 10), substr(s, 1, 0));
	printf("[%s][%s][%s]\n", substr(s, -2), substr(s, -4, 2), substr(s, -10));
	printf("[%s][%s][%s]\n", substr(s, 1, -1), substr(s, 7), substr(s, 0, -3));
	printf("[%s][%s]\n", substr("", 0), substr("", 0, 5));
	exit(0);
}
