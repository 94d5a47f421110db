/* Conditions, else-if chains, nested blocks, with a predicate. */
#pragma D option quiet

int i, n;
BEGIN { i = 0; n = 0; }
tick-1ms
/i < 6/
{
	i++;
	if (i == 1)
		printf("one\n");
	else if (i == 2) {
		printf("two");
		if (n == 0) { n = 1; printf("!\n"); } else printf("?\n");
	} else if (i < 5) {
		this->s = i == 3 ? "three" : "four";
		printf("%s\n", this->s);
	} else {
		if (i == 5) { } else { printf("six\n"); }
		;
	}
}
tick-1ms /i == 6/ { if (n) exit(0); else exit(1); }
