/* Text is padded to columns of the terminal, not to bytes: printf, printa and tables without a format. */
#pragma D option quiet
BEGIN
{
	@["plain", 1] = count();
	@["hé", 2] = count();
	@["漢字", 3] = count();
	@["é", 4] = count();
	printf("[%-6s][%6s][%.3s]\n", "é", "漢字", "漢字");
	printa(@);
	printa("%-8s|%8d|%@d\n", @);
	exit(0);
}
