/* strtok keeps its place within the clause. */
#pragma D option quiet

BEGIN
{
	this->a = strtok("/usr//lib/x86", "/"); this->b = strtok(NULL, "/"); this->c = strtok(NULL, "/");
	printf("%s %s %s %d\n", this->a, this->b, this->c, strtok(NULL, "/") == NULL);
	printf("%s|%s\n", strtok("a=b;c", "=;"), strtok(NULL, ";"));
}
BEGIN
{
	printf("%s %s %s %s\n", toupper("aBc-1"), tolower("AbC-1"), lltostr(-5), lltostr(0));
	printf("%s %s %s %s\n", lltostr(255, 16), lltostr(8, 8), lltostr(5, 2), lltostr(0x8000000000000000));
	printf("%d %d %d %d\n", strtoll("42"), strtoll("-7x"), strtoll("ff", 16), strtoll("none"));
	printf("%d %d %d\n", strlen(""), strlen("four"), strlen(lltostr(1000000)));
	exit(0);
}
