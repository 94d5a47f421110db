/* Inlines: constants, strings, expressions evaluated at each use, parameters. */
#pragma D option quiet

inline int TEN = 10; inline string NAME = "fathom"; inline int sq[int x] = x * x;
int64_t n; inline int64_t twice = n + n; int arr[TEN]; inline int max2[int a, int b] = a > b ? a : b;

BEGIN
{
	n = 4; printf("%d %s %d %d\n", TEN, NAME, sq[5], sizeof(arr));
	printf("%d ", twice); n = 6; printf("%d %d\n", twice, sq[n + 1]);
	printf("%d %d\n", max2[3, n], max2[TEN, n]);
	exit(0);
}
