/* Formats (d-language.md 6.3) */
BEGIN
{
	printf("plain\n"); printf("%%"); printf("a%-5d|%+i|%#x|%'u|%05lld|%.3s|%S\n", 1, 2, 3, 4, 5l, "abc", execname);
	printf("%*d %-*.*s %?p %c %C", 1, 2, 3, 4, "x", curthread, 'a', 'b');
	printf("%Y %T %a %A", walltimestamp, timestamp, arg0, arg1);
	printf("%hd %ld %lx %P", (short)1, 2l, 3ul, (uint16_t)80);
}
