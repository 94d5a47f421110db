/* Comments, continued lines, control lines, several probes of one clause, clauses without a body. */
#pragma D option quiet
#ident "nothing"
#line 100 "elsewhere.d"

int /* a comment */ x,
	y;
dtrace:::BEGIN, :::BEGIN,
BEGIN
/ x /* in a predicate */ == 0 \
  || 1 /
{
	x++; ; ;
	printf("%d\n", x)
}
BEGIN /x == 3 && y == 0/ { printf("last %d\n", x / 2); exit(0); }
