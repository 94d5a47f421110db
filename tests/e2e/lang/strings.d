#pragma D option quiet
string s;
BEGIN
{
	s = "hello";
	printf("%d %d\n", strlen(s), strlen(""));
	printf("%s\n", strjoin(s, strjoin(", ", "world")));
	printf("%s|%s|%s\n", substr("abcdef", 2), substr("abcdef", 1, 3), substr("abcdef", -2));
	printf("%d %d %d\n", index("abcabc", "ca"), index("abcabc", "b", 2), index("abc", "x"));
	printf("%s|%s\n", strstr("hello", "ll"), strstr("hello", "zz"));
	printf("%s %s %s %s\n", basename("/usr/lib/"), basename(""), basename("///"), basename("a"));
	printf("%s %s %s %s\n", dirname("/usr/lib/"), dirname("a"), dirname("/"), dirname("/a"));
	printf("%s %s\n", lltostr(-123), lltostr(0));
	printf("%d %d %d\n", s == "hello", s < "help", s != "hellp");
	printf("%s\n", stringof("xyz"));
	exit(0);
}
