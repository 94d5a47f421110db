/* Enumerators are constants, everywhere; a variable of the type holds any of them. */
#pragma D option quiet

enum color { RED, GREEN = 5, BLUE, LAST = BLUE + 10 };
enum color c; int by[int]; int arr[GREEN];
BEGIN
{
	c = BLUE; by[GREEN] = 2;
	printf("%d %d %d %d %d\n", RED, GREEN, BLUE, LAST, c);
	printf("%s %d %d\n", c == BLUE ? "blue" : "other", by[5], sizeof(arr));
	c = RED; printf("%d %d\n", c == RED, sizeof(enum color));
	exit(0);
}
