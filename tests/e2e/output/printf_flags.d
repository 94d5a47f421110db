/* Flags, widths and precisions. */
#pragma D option quiet

BEGIN
{
	printf("%5d|%-5d|%05d|%+d|% d|\n", 42, 42, 42, 42, 42);
	printf("%5d|%-6d|%06d|%+d|% d|\n", -42, -42, -42, -42, -42);
	printf("%x|%#x|%X|%#X|%o|%#o|\n", 255, 255, 255, 255, 8, 8);
	printf("%.5d|%8.3d|%-8.3d|%'d|%'d|\n", 42, 7, 7, 1234567, 999);
	printf("%*d|%-*d|%*d|%.*d|\n", 6, 42, 6, 42, -6, 42, 4, 42);
	printf("%8s|%-8s|%.2s|%8.2s|%-8.2s|%.*s|\n", "abc", "abc", "abc", "abc", "abc", 1, "abc");
	printf("%c|%3c|%-3c|%%|\n", 'a', 'b', 'c');
	printf("%p|%?p|%16p|%#p|\n", 255, 255, 255, 255);
	exit(0);
}
