# Stacks on stacks that the program made itself end where those begin (marked as cut when the code that the
# C library puts there has not been touched); after longjmp(), a stack is as it was before; and those of
# code that unwinds for an exception are whole.
command -v cc >/dev/null || exit 67
set -e
cd "$TMP"
stacks() { # COMMAND: frames a line, those of the C library's start left out
	"$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { ustack(); }' -c "$1" 2>&1 |
		sed 's/^ *//; s/.*`//; s/+0x.*//; s/() \[clone.*//; s/[( ].*//' | awk '/^getppid|^__libc_start|^__GI|^0x/ { next } { print $0 == "" ? "-" : $0 }' | uniq
}
cc -O1 -fno-optimize-sibling-calls -o switched "$SRC/tests/e2e/stack/switched.c"
stacks ./switched >got
cat >want <<'X'
-
show
body
__start_context
-
show
main
_start
-
show
body
__start_context
-
show
main
_start
-
X
# a stripped C library does not say __start_context
sed -i '/^__start_context$/d; /^\[cut\]$/d' got want
if ! diff -u want got; then cat got; exit 1; fi

command -v c++ >/dev/null || exit 0
cat >throws.cc <<'X'
#include <stdexcept>
#include <unistd.h>
static volatile int sink;
__attribute__((noinline)) static void show() { sink += getppid(); }
struct guard {
	~guard() { show(); sink++; }
};
__attribute__((noinline)) void deeper(int n)
{
	guard g;

	if (n)
		deeper(n - 1);
	else
		throw std::runtime_error("x");
	sink++;
}
int main()
{
	try {
		deeper(1);
	} catch (const std::exception &) {
		show();
		sink++;
	}
	return 0;
}
X
c++ -O1 -fno-optimize-sibling-calls -o throws throws.cc
# the destructors of deeper(0) and deeper(1), then the handler: that of deeper(0) is called by deeper(1)
"$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { printf("%d\n", ustackdepth); ustack(); }' -c ./throws >got 2>&1
if grep -q '\[cut\]' got || [ "$(grep -c '`_start+' got)" != 3 ] || [ "$(grep -c 'deeper(int)' got)" != 3 ]; then cat got; exit 1; fi
