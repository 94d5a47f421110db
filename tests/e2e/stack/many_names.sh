# The kernel's table of names has room for 65,536; a session can have any number of them.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >many.c <<'X'
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 80000; i++) {
		syscall(SYS_getppid);
		if (i % 200 == 0)
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
