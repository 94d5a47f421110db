# The kernel's table of names has room for 65,536; a session can have any number of them.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >many.c <<'X'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
/* the number in the last stack that dtrace has printed */
static int printed(void)
{
	char text[4097] = "", *last = NULL;
	int fd = open("out", O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	ssize_t n = pread(fd, text, 4096, size > 4096 ? size - 4096 : 0);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (char *at = text; (at = strstr(at, "[ n ")); at++)
		last = at;
	return last ? atoi(last + 4) : 0;
}
/* It is never more than 20,000 names ahead of a tracer that has no CPU for a while. */
int main(void)
{
	for (int i = 0; i < 80000; i++) {
		syscall(SYS_getppid);
		if (i % 200 == 0)
			usleep(5000);
		for (int k = 0; i % 1000 == 0 && i > 20000 && printed() < i - 20000 && k < 4000; k++)
			usleep(5000);
	}
	return 0;
}
X
cc -O1 -o many many.c || exit 1
cat >many.d <<'X'
uint64_t n;
dtrace:helper:ustack:
/arg3 == 0/
{
	n++;
	strjoin("@n ", lltostr(n));
}
X
"$DTRACE" -q -x bufsize=8m -x switchrate=50hz -x helper=many.d -n 'syscall::getppid:entry /pid == $target/ { jstack(1); }' -c ./many >out 2>err
grep -v 'does not answer\|answer too slowly' err
sed -n 's/^ *\[ n \([0-9]*\) \]$/\1/p' out | sort -nu | sed -n '1p;$='
