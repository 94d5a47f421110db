/* Escapes in strings; an embedded NUL ends the string. */
#pragma D option quiet

BEGIN
{
	printf("tab\there \"quoted\" back\\slash \101\x42\n");
	trace("a\tb\n");
	s = "cut\0off"; printf("[%s] %d\n", s, strlen(s));
	printf("%s|%d\n", "\x7b", strlen("\n\t"));
	printf("100%% %c\n", '%');
	exit(0);
}
