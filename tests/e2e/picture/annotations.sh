# Frames of a language: in pictures and folded stacks the function is before its place in the source; what is no place stays as it is, and so
# does the text of stacks. In JSON, frames that wait have function, file and line, too.
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
	uframe("@async shop.py:40 (serve)");
	uframe("async handle at /srv/server.js line 88");
}
X
for form in text folded flame json; do
	"$DTRACE" -q -x oformat=$form -x helper=helper.d -o "$form" -n 'syscall::getppid:entry /pid == $target/ { @[jstack(12)] = count(); }' \
		-c ./two || exit 1
done
grep -o '\[ .* \]' text
sed 's/ [0-9]*$//' <folded | tr ';' '\n' | grep -v '`' | sort
sed -n "s/^.names.:\[//p" flame | grep -o "\"l[^\"]*\"" | sort
python3 -c '
import json, sys
def frames(x):
    if isinstance(x, dict):
        return ([x] if "async" in x else []) + [f for v in x.values() for f in frames(v)]
    return [f for v in x for f in frames(v)] if isinstance(x, list) else []
for f in frames(json.load(open("json"))):
    print(f["async"], f["name"], f["file"], f["line"])
'
