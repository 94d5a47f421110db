#pragma D option quiet
int tab[string, int];
BEGIN
{
	tab["a", 1] = 5; tab["a", 2]++; tab["a", 2] += 3;
	name[1] = "one"; name[2] = "two";
	self->x["k"] = 7; self->str = "thread";
	printf("%d %d %d\n", tab["a", 1], tab["a", 2], tab["b", 1]);
	printf("%s %s [%s]\n", name[1], name[2], name[3]);
	printf("%d %s\n", self->x["k"], self->str);
	tab["a", 1] = 0; self->str = 0;
	printf("%d [%s]\n", tab["a", 1], self->str);
	exit(0);
}
