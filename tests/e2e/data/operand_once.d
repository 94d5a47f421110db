/* An operand of printm() or pcap() is evaluated once, however many parts of it are recorded (d-language.md 5.4). */
/* @@runtest-opts: -q */
BEGIN
{
	n = 4;
	p = (char *)alloca(8);
	bcopy("abcdefg", p, 8);
	printm(8, memref(p, n++));
	printf("n = %d\n", n);
	exit(0);
}
