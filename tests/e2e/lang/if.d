#pragma D option quiet
BEGIN
{
	x = 3;
	if (x == 3) {
		printf("three\n");
		if (x > 5)
			printf("big\n");
		else
			printf("small\n");
	} else {
		printf("other\n");
	}
	if (x == 4)
		printf("four\n");
	exit(0);
}
