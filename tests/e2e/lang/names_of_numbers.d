/* Names of errors, signals and flags: strerrno(), strerror(), strsignal(), strflags(). */
#pragma D option quiet

BEGIN
{
	printf("%s %s %s %s %s\n", strerrno(2), strerrno(-13), strerrno(0), strerrno(41), strerrno(4000));
	printf("%s|%s|%s\n", strerror(2), strerror(133), strerror(-7777));
	printf("%s %s %s %s %s\n", strsignal(2), strsignal(34), strsignal(64), strsignal(65), strsignal(0));
	printf("%s %s\n", strflags("open", O_RDWR | O_CREAT | O_TRUNC), strflags("open", 0));
	/* flags that contain others; what is left */
	printf("%s %s %s\n", strflags("open", 020200001), strflags("open", 04010000), strflags("open", 0x80000003));
	printf("%s %s %s\n", strflags("prot", 0), strflags("prot", 3), strflags("access", 0));
	printf("%s %s\n", strflags("clone", 0x1200011), strflags("clone", 0x91));
	printf("%s %s %s\n", strflags("family", 10), strflags("family", 100), strflags("socket", 0x80002));
	/* an int with its sign bit set has no more bits than 32 */
	this->i = (int)0xc0000001;
	printf("%s\n", strflags("epoll", this->i));
	printf("%d\n", strlen(strflags("clone", -1)));
	@[strerrno(2) == "ENOENT", strjoin(strsignal(9), "!"), strflags("poll", 0)] = count();
	exit(0);
}
