/* basename dirname cleanpath. */
#pragma D option quiet

BEGIN
{
	printf("%s %s %s %s %s\n", basename("/a/b/c"), basename("/a/b/"), basename("/"), basename(""), basename("x"));
	printf("%s %s %s %s %s\n", dirname("/a/b/c"), dirname("/a/b/"), dirname("/"), dirname(""), dirname("x"));
	printf("%s %s %s %s\n", cleanpath("/a/./b/../c"), cleanpath("//a///b"), cleanpath("/.."), cleanpath("/a/b/.."));
	printf("%s\n", strjoin(dirname("/etc/passwd"), strjoin("|", basename("/etc/passwd"))));
	exit(0);
}
