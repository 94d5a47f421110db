# Clauses read constants that the program of -c has not used yet, wherever they stand in its file: none is an invalid address.
# @@foreign
cd "$TMP" || exit 1
fail() { echo "$1"; cat out err; exit 1; }
cat >prog.c <<'EOF'
#include <fcntl.h>
#include <unistd.h>
static const char names[40][16384] = {[0] = "first", [7] = "seventh", [20] = "twentieth", [39] = "last"};
static char data[3][16384] = {[1] = "data"};
static const struct pair { long a, b; } pair = {41, 42};
__attribute__((noinline)) void use(const void *name) { __asm__ volatile("" :: "r"(name)); }
__attribute__((noinline)) void use_pair(const struct pair *p) { __asm__ volatile("" :: "r"(p)); }
int main(void)
{
	use(names[0]); use(names[7]); use(names[20]); use(names[39]); use(data[1]); use_pair(&pair);
	return open("/nonexistent/path", O_RDONLY) >= 0;
}
EOF
cc -O1 -o prog prog.c || exit 1
timeout $((30 * ${PATIENCE:-1})) "$DTRACE" -qn 'pid$target:prog:use:entry { n++; printf("%s\n", copyinstr(arg0)); }
	pid$target:prog:use_pair:entry { printf("%d\n", *(userland long *)(arg0 + 8)); }
	syscall::open*:entry /pid == $target && n/ { printf("%s\n", copyinstr(probefunc == "open" ? arg0 : arg1)); }' -c ./prog >out 2>err
sed '/^$/d' out >got
printf 'first\nseventh\ntwentieth\nlast\ndata\n42\n/nonexistent/path\n' | cmp - got || fail "what was read"
grep -q 'invalid address' err && fail "an invalid address"
exit 0
