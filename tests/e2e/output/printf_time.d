/* %Y and %T in the local zone (UTC here). */
#pragma D option quiet

BEGIN
{
	printf("%Y|%Y\n", (int64_t)0, (uint64_t)1700000000123456789);
	printf("%T\n", (int64_t)1700000000000000000);
	printf("%30Y|\n", (int64_t)86400000000000);
	printf("%d\n", walltimestamp > 1700000000000000000);
	exit(0);
}
