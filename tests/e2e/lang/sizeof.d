/* sizeof and offsetof of types, variables and expressions. */
#pragma D option quiet

struct s { char c; int64_t l; short h[3]; }; struct s v; struct s *p; string str; typedef int int10[10];
BEGIN
{
	printf("%d %d %d %d %d\n", sizeof(char), sizeof(short), sizeof(int), sizeof(long), sizeof(long long));
	printf("%d %d %d %d\n", sizeof(struct s), sizeof(v), sizeof(p), sizeof(*p));
	printf("%d %d %d\n", sizeof(v.h), sizeof v.c, offsetof(struct s, h));
	printf("%d %d %d\n", sizeof("four"), sizeof(str), sizeof(int10));
	printf("%d %d %d\n", sizeof(pid), sizeof(timestamp), sizeof(uint64_t *));
	exit(0);
}
