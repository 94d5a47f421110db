# SPDX-License-Identifier: MIT
# Functions of a library's start files (_init, frame_dummy and others) have no call frame information, and are the first of its code that is
# executed. At each of their instructions, stacks lead on to the function that loads the library.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
fail() { echo "$1"; head -40 out; exit 1; }
cat >lib.c <<'X'
int value = 1;
int twice(int n) { return 2 * n * value; }
X
cat >loads.c <<'X'
#include <dlfcn.h>
__attribute__((noinline)) int loads(const char *path)
{
	void *h = dlopen(path, RTLD_NOW);
	int is_bad = !h || dlclose(h);

	return is_bad;
}
int main(int argc, char **argv) { return loads(argv[1]); }
X
cc -O1 -shared -fPIC -o lib.so lib.c && cc -O1 -rdynamic -o loads loads.c || exit 1
names='_init _fini frame_dummy register_tm_clones deregister_tm_clones __do_global_dtors_aux'
probes=
for name in $names; do
	probes="$probes${probes:+,}pid\$target:lib.so:$name:"
done
"$DTRACE" -qZn "$probes"' { printf("\nat %s", probefunc); ustack(); }' -c './loads ./lib.so' >out 2>err || { cat err; exit 1; }
for name in $names; do
	grep -q "^at $name\$" out || fail "$name was not executed"
done
awk '/^at /{n++} /loads`loads\+/{l++} /loads`main\+/{m++} /\[/{bad++} END{exit !(n > 30 && n == l && n == m && !bad)}' out || fail "stacks that end before their time"
