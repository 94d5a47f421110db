/* index rindex strchr strrchr strstr and their edges. */
#pragma D option quiet

BEGIN
{
	printf("%d %d %d %d\n", index("hello", "l"), index("hello", "lo"), index("hello", "z"), index("hello", ""));
	printf("%d %d %d %d\n", index("hello", "l", 3), index("hello", "h", 1), index("hello", "h", -4), index("hello", "l", 50));
	printf("%d %d %d %d\n", rindex("hello", "l"), rindex("hello", "h"), rindex("hello", "z"), rindex("hello", "l", 2));
	printf("%d %d %d\n", index("", ""), index("", "a"), rindex("hello", "o", -1));
	printf("%s|%s|%s\n", strchr("a.b.c", '.'), strrchr("a.b.c", '.'), strstr("foobar", "ob"));
	printf("[%s][%s][%s]\n", strchr("abc", 'z'), strrchr("abc", 'z'), strstr("abc", "bd"));
	printf("%d %d %d\n", strchr("abc", 'z') == NULL, strstr("abc", "x") == NULL, strstr("abc", "c") == NULL);
	printf("[%s] [%s]\n", strstr("", ""), strstr("abc", ""));
	exit(0);
}
