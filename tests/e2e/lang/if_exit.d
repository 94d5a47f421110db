/* exit() lets what follows it in its block run, but no later part of the clause: neither an if nor what stands behind the block. */
/* @@exit: 4 */
#pragma D option quiet
BEGIN
{
	x = 1;
	if (x == 1) {
		printf("in\n");
		if (x == 2) { exit(9); } else { printf("inner\n"); }
		exit(3);
		printf("rest of the block\n");
	} else
		printf("else\n");
	printf("behind the if\n");
	y = 1;
}
BEGIN { printf("the next clause\n"); }
END { printf("end %d\n", y); exit(4); if (x) printf("if\n"); printf("behind\n"); }
END { printf("second END\n"); }
