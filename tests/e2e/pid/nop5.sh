# Linux 6.18 makes a call of a probed nop of 5 bytes, which a child of fork() cannot execute: entry probes go behind such
# nops, in all their forms, or are refused where the function jumps there; children live. Instructions are refused likewise.
cd "$TMP" || exit 1
fail() { echo "$1"; cat out err; exit 1; }
cat >prog.c <<'EOF'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#define FUNC(name, ...) __asm__(".globl " #name "\n.type " #name ",@function\n" #name ":\n" __VA_ARGS__ \
	"\tmov $1, %eax\n\tret\n.size " #name ", . - " #name "\n"); int name(void);
FUNC(bare, "\t.byte 0x0f, 0x1f, 0x44, 0, 0\n")
FUNC(marked, "\tendbr64\n\t.byte 0x0f, 0x1f, 0x44, 0, 0\n")
FUNC(prefixed, "\t.byte 0x66, 0x66, 0x66, 0x66, 0x90\n")
FUNC(displaced, "\t.byte 0x66, 0x0f, 0x1f, 0x40, 0\n")
FUNC(looping, "\tmov $2, %ecx\n\tjmp 2f\n2:\t.byte 0x0f, 0x1f, 0x44, 0, 0\n\tdec %ecx\n\tjnz 2b\n")
FUNC(entered, "\t.byte 0x0f, 0x1f, 0x44, 0, 0\n1:\tdecl count(%rip)\n\tjg 1b\n")
int count = 3;
static void all(void) { bare(); marked(); prefixed(); displaced(); looping(); entered(); }
int main(void)
{
	int status;

	all();
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			all();
			_exit(0);
		}
		wait(&status);
		if (status)
			printf("a child ended with %#x\n", status);
	}
	return 0;
}
EOF
cc -O1 -o prog prog.c || exit 1
timeout $((30 * ${PATIENCE:-1})) "$DTRACE" -qn 'pid$target:prog:bare:entry, pid$target:prog:marked:entry, pid$target:prog:prefixed:entry,
	pid$target:prog:displaced:entry, pid$target:prog:looping:entry { @[probefunc] = count(); }' -c ./prog >out 2>err || fail "the entries of functions"
sed '/^$/d; s/  */ /g' out | sort >got
printf ' bare 1\n displaced 1\n looping 1\n marked 1\n prefixed 1\n' | cmp -s - got || fail "not one entry a function, or harmed children"

# All instructions: those that can be probed fire, and nobody is harmed.
timeout $((30 * ${PATIENCE:-1})) "$DTRACE" -qn 'pid$target:prog:bare:,pid$target:prog:prefixed:,pid$target:prog:looping: { @[probefunc] = count(); }' -c ./prog >out 2>err || fail "all instructions"
grep -q 'ended with' out && fail "harmed children"
grep -q 'looping' out || fail "no instructions"

# Where the kernel does that, what cannot be probed is said.
case $(uname -r) in [1-5].*|6.[0-9].*|6.1[0-7].*) exit 0;; esac
refused() { timeout $((30 * ${PATIENCE:-1})) "$DTRACE" -qn "pid\$target:prog:$1 { }" -c ./prog >out 2>err && fail "$1 is not refused"; grep -q "$2" err || fail "$1: not '$2'"; }
refused entered:entry "the kernel places no probe on the instruction at 'entered'+0"
refused looping:7 "is a 5-byte nop: this kernel would turn it into a call, which may end the process"
refused bare:0 "is a 5-byte nop"
