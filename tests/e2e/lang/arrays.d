#pragma D option quiet
int count[string, int];
BEGIN
{
	count["a", 1] = 5; count["a", 2]++; count["a", 2] += 3;
	name[1] = "one"; name[2] = "two";
	self->x["k"] = 7; self->str = "thread";
	printf("%d %d %d\n", count["a", 1], count["a", 2], count["b", 1]);
	printf("%s %s [%s]\n", name[1], name[2], name[3]);
	printf("%d %s\n", self->x["k"], self->str);
	count["a", 1] = 0; self->str = 0;
	printf("%d [%s]\n", count["a", 1], self->str);
	exit(0);
}
