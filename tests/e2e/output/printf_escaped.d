/* %S and %C show what cannot be printed. */
#pragma D option quiet

BEGIN
{
	printf("%S|%S|%S\n", "a\tb\n", "\"q\" \\", "\001\177");
	printf("%C%C%C%C\n", 'a', '\n', '\t', '\001');
	this->c = (char *)alloca(4); this->c[0] = 'o'; this->c[1] = 'k'; this->c[2] = 0;
	printf("%s %s\n", stringof(this->c), strjoin("a", "b"));
	exit(0);
}
