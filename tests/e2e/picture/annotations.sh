# Frames of a language: in pictures and folded stacks the function is before its place in the source; what is no place stays as it is, and so
# does the text of stacks.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >two.c <<'X'
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 7; i++)
		syscall(SYS_getppid);
	return 0;
}
X
cc -O1 -o two two.c || exit 1
cat >helper.d <<'X'
#pragma D helper exec "two"
dtrace:helper:ustack:
/arg3 == 0/
{
	uframe("@/srv/a b/shop.py:12 (charge)");
	uframe("@[C] (pcall)");
	uframe("@app.rb:3 (block (2 levels) in run)");
	uframe("@lib.lua (f)");
	uframe("@GET /a b (cached)");
	uframe("@f (a) b");
	uframe("@(x)");
	uframe("@odd) (y)");
}
X
for form in text folded flame; do
	"$DTRACE" -q -x oformat=$form -x helper=helper.d -o "$form" -n 'syscall::getppid:entry /pid == $target/ { @[jstack(12)] = count(); }' \
		-c ./two || exit 1
done
grep -o '\[ .* \]' text
tr ';' '\n' <folded | sed 's/ [0-9]*$//' | grep -v '`' | sort
sed -n "s/^.names.:\[//p" flame | grep -o "\"l[^\"]*\"" | sort
