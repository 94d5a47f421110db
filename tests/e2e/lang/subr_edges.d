/* Edges of the subroutines (d-language.md 5.4): empty strings, positions outside, state, bounds of scratch memory. */
#pragma D option quiet

struct in6 { unsigned char b[16]; };
unsigned char *p; unsigned char zeros[16]; int outside;

BEGIN
{
	printf("[%s] [%s] [%s] [%s] [%s]\n", substr("abc", -2), substr("abc", -5, 3), substr("abc", 1, -1), substr("abc", 3), substr("", 0));
	printf("%d %d %d %d\n", index("abc", "", 9), rindex("abab", "ab", -1), index("", ""), strlen(""));
	printf("[%s] [%s] [%s] [%s]\n", strjoin("", ""), basename(""), dirname(""), cleanpath(""));
	printf("%d %d [%s] [%s]\n", strchr("abc", 'z') == NULL, strstr("", "a") == NULL, strstr("", ""), strrchr("a/b/c", '/'));
	printf("%d %d %d %d %d\n", strtoll("0x1f", 16), strtoll("-z", 36), strtoll("12abc"), strtoll("none"), strtoll(" +7"));
	printf("[%s] [%s] [%s] [%s]\n", lltostr(-1), lltostr(8, 8), lltostr(255, 16), lltostr(5, 2));
	printf("%d %d %x\n", getmajor(0x00800103), getminor(0x00800103), htons(0x1234));
	printf("%d %d\n", rand() >= 0, rand() != rand() || rand() != rand());
	printf("[%s] [%s]\n", toupper("aZ9é"), tolower(""));
}
/* one strtok() state a clause */
BEGIN { printf("%s ", strtok("a,b,,c", ",")); printf("%s %s ", strtok(NULL, ","), strtok(NULL, ",")); printf("%d\n", strtok(NULL, ",") == NULL); }
BEGIN { printf("%d\n", strtok(NULL, ",") == NULL); }
BEGIN
{
	p = (unsigned char *)alloca(16);
	bcopy(zeros, p, 16);
	p[0] = 0x20; p[1] = 1; p[15] = 1;
	printf("%s %s %s\n", inet_ntoa6((struct in6_addr *)p), inet_ntop(10, p), inet_ntop(2, p));
	/* a single group of zeros stays (RFC 5952 4.2.2), unless strict is 0 */
	p[5] = 1; p[7] = 1; p[9] = 1; p[11] = 1; p[13] = 1;
	printf("%s %s %s %s\n", inet_ntoa6((struct in6_addr *)p), inet_ntoa6((struct in6_addr *)p, 0),
	    inet_ntoa6((struct in6_addr *)p, 1), inet_ntop(10, p));
	p[5] = 0; p[7] = 0; p[9] = 0; p[11] = 0; p[13] = 0;
	p[0] = 0; p[1] = 0; p[10] = 0xff; p[11] = 0xff; p[12] = 10;
	printf("%s %s %s\n", inet_ntoa6((struct in6_addr *)p), inet_ntop(10, p), link_ntop(1, p + 10));
}
/* memory: inside it works, a byte beyond is a fault, as are addresses that are not scratch memory */
BEGIN { p = (unsigned char *)alloca(8); bcopy("1234567", p, 8); printf("%s\n", stringof(p)); bcopy("x", p, 0); }
BEGIN { p = (unsigned char *)alloca(8); bcopy("12345678", p + 1, 8); }
BEGIN { bcopy("1", (void *)0x1000, 1); }
BEGIN { p = (unsigned char *)alloca(8); copyinto((uintptr_t)0x10, 8, p); }
BEGIN { p = (unsigned char *)alloca(8); p[8] = 1; }
BEGIN { printf("%d\n", alloca(0) != NULL); }
BEGIN { outside = 4097; printf("%s\n", memstr("a", '-', outside)); }
BEGIN { printf("%s\n", inet_ntop(99, "x")); }
BEGIN { printf("%s\n", link_ntop(7, "x")); }
BEGIN { printf("%s\n", lltostr(1, 37)); }
BEGIN { printf("%d\n", strtoll("1", 1)); }
BEGIN { printf("%s\n", copyinstr(0x10)); }
BEGIN { printf("%s\n", strjoin("a", (string)NULL)); }
BEGIN { exit(0); }
ERROR { printf("fault %d %d\n", arg4, (uint64_t)arg5 < 0x10000 ? arg5 : -1); }
