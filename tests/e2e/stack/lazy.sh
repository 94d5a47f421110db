# SPDX-License-Identifier: MIT
# The first call of a library's function goes through the dynamic linker, which keeps the address of its own frame in a callee-saved register
# while it looks for the function. A program steps through such a call, instruction by instruction: the stack of each leads on to its caller.
# @@needs: kernel
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >lib.c <<'X'
int value = 1;
int twice(int n) { return 2 * n * value; }
X
cat >lazy.c <<'X'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
int twice(int n);
static volatile int nsteps;
/* getppid(), of which the test records stacks, without a function of a library */
static void on_step(int sig)
{
	long nr = SYS_getppid;

	__asm__ volatile("syscall" : "+a"(nr) : : "rcx", "r11", "memory");
	nsteps++;
}
/* A signal for each instruction of the call (EFLAGS.TF) */
__attribute__((noinline)) static int calls(int n)
{
	__asm__ volatile("pushfq; .cfi_adjust_cfa_offset 8; orl $0x100, (%%rsp); popfq; .cfi_adjust_cfa_offset -8" : : : "cc", "memory");
	n = twice(n);
	__asm__ volatile("pushfq; .cfi_adjust_cfa_offset 8; andl $~0x100, (%%rsp); popfq; .cfi_adjust_cfa_offset -8" : : : "cc", "memory");
	return n;
}
int main(void)
{
	int n;

	signal(SIGTRAP, on_step);
	n = calls(21);
	printf("%d %d\n", n, nsteps);
	return 0;
}
X
cc -O1 -shared -fPIC -o lib.so lib.c && cc -O1 -mno-red-zone -fno-pie -no-pie -fplt -Wl,-z,lazy -o lazy lazy.c ./lib.so || exit 1
"$DTRACE" -q -x bufsize=32m -n 'syscall::getppid:entry /pid == $target/ { printf("\nat\n"); ustack(30); }' -c ./lazy >out 2>err || { cat err; exit 1; }
[ ! -s err ] || { cat err; exit 1; }
read -r n nsteps <<X
$(grep -E '^[0-9]+ [0-9]+$' out)
X
[ "$n" = 42 ] && [ "$nsteps" -gt 200 ] || { echo "the program has not stepped through the linker: $n, $nsteps"; exit 1; }
awk -v steps="$nsteps" '
	function finish() {
		if (!n++)
			return
		linked += linker
		if (!calls || !main || bad) {
			if (!wrong++)
				print "the stack of a step that does not lead to its caller:" text
		}
	}
	/^at$/ { finish(); calls = main = bad = linker = 0; text = "" ; next }
	NF { text = text "\n" $0 }
	/lazy`calls\+/ { calls = 1 }
	/lazy`main\+/ { main = calls }
	/ld-linux[^`]*`/ { linker = 1 }
	/\[/ { bad = 1 }
	END {
		finish()
		n--
		if (n != steps || linked < steps - 40 || wrong)
			print n " stacks of " steps " steps, " linked " in the linker, " wrong + 0 " of them wrong"
		exit !(n == steps && linked >= steps - 40 && !wrong)
	}' out
