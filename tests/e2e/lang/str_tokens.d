/* strtok keeps its place within the firing, also where the text was made by a clause that is over. */
#pragma D option quiet

BEGIN
{
	this->a = strtok("/usr//lib/x86", "/"); this->b = strtok(NULL, "/"); this->c = strtok(NULL, "/");
	printf("%s %s %s %d\n", this->a, this->b, this->c, strtok(NULL, "/") == NULL);
	printf("%s|%s\n", strtok("a=b;c", "=;"), strtok(NULL, ";"));
	printf("%s %s, %s %s\n", strtok("k=v;", "="), strtok(NULL, ";"), strtok("k=;v", "="), strtok(NULL, ";"));
	this->f = strtok("a,b", ",");
}
BEGIN { printf("%s then %s\n", this->f, strtok(NULL, ",")); }
BEGIN { printf("%s", strtok(strjoin("one two ", "three four"), " ")); }
BEGIN /strtok(NULL, " ") == "two"/ { this->x = strjoin("made", "here"); printf(" %s", strtok(NULL, " ")); }
BEGIN { trace(*(int *)0); }
ERROR { printf(" %d", strlen(strjoin("error", "text"))); }
BEGIN { this->x = strjoin("made", "here"); printf(" %s %d\n", strtok(NULL, " "), strtok(NULL, " ") == NULL); }
/* Another firing: no text was given yet, which is an error; once one was, NULL says that nothing is left of it. */
END { printf("%d\n", strtok(NULL, " ") == NULL); }
END { printf(" %s", strtok("last", " ")); printf(" %d %d\n", strtok(NULL, " ") == NULL, strtok(NULL, " ") == NULL); }
BEGIN { this->f = strtok("left for END", " "); }
BEGIN
{
	printf("%s %s %s %s\n", toupper("aBc-1"), tolower("AbC-1"), lltostr(-5), lltostr(0));
	printf("%s %s %s %s\n", lltostr(255, 16), lltostr(8, 8), lltostr(5, 2), lltostr(0x8000000000000000));
	printf("%d %d %d %d\n", strtoll("42"), strtoll("-7x"), strtoll("ff", 16), strtoll("none"));
	printf("%d %d %d\n", strlen(""), strlen("four"), strlen(lltostr(1000000)));
	exit(0);
}
