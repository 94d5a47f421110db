# A runtime that keeps the record of its call in a callee-saved register: with the pragma "registers", a helper reads the register in
# outer frames, behind functions that have saved it in their own frames, a signal handler, and functions that have left it alone; the
# interpreter over the stopped process and over a core file says the same. Without the pragma such a read is an error of the helper.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >kept.c <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct call {
	const char *name;
	void (*next)(int depth);
};

/* run(call, depth): the call is kept in the register, from which next() is called */
#define RUN(reg)                                                                                   \
	__asm__(".globl run_" #reg "\n.type run_" #reg ",@function\nrun_" #reg ":\n"               \
		".cfi_startproc\npush %" #reg "\n.cfi_def_cfa_offset 16\n.cfi_offset %" #reg ",-16\n" \
		"mov %rdi, %" #reg "\nmov %esi, %edi\ncall *8(%" #reg ")\n"                        \
		"pop %" #reg "\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size run_" #reg ", .-run_" #reg); \
	void run_##reg(const struct call *c, int depth)
RUN(rbx);
RUN(r12);
RUN(r13);
RUN(r14);
RUN(r15);

volatile int touched, handled;

/* uses all callee-saved registers for itself, and saves them */
__attribute__((noinline)) static int busy(int n, void (*f)(int))
{
	volatile int *t = &touched;
	int a = t[0], b = t[0] + n, c = t[0] * 3, d = t[0] + 7, e = t[0] ^ n, g = t[0] - n;

	f(n);
	return a + b + c + d + e + g + t[0];
}

static void stop(int depth)
{
	getppid();
	if (touched)
		raise(SIGSTOP);
}

static void on_signal(int sig)
{
	handled++;
	stop(0);
}

static void next(int depth);
static void go(int depth)
{
	static const struct call calls[] = {{"rbx", next}, {"r12", next}, {"r13", next}, {"r14", next}, {"r15", next}};
	static void (*const run[])(const struct call *, int) = {run_rbx, run_r12, run_r13, run_r14, run_r15};

	if (depth == 11)
		stop(depth);
	else if (depth == 7)
		kill(getpid(), SIGUSR1), run[depth % 5](&calls[depth % 5], depth + 1);
	else
		run[depth % 5](&calls[depth % 5], depth + 1);
	__asm__ volatile("" ::: "memory");
}

static void next(int depth)
{
	touched += busy(depth, go) & 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};

	for (int i = 0; i < 5; i++) /* a string that has never been read is not in RAM */
		touched += "rbx\0r12\0r13\0r14\0r15"[4 * i] & 0;
	sigaction(SIGUSR1, &sa, NULL);
	getppid();
	for (int i = 0; argc > 2 && access("met", F_OK) && i < 20000; i++)
		usleep(5000);
	touched = argc > 1 && argv[1][0] == 's';
	go(0);
	return 0;
}
C
cc -O2 -g -fno-optimize-sibling-calls kept.c -o kept || exit 1
{
	echo '#pragma D helper exec "kept"'
	echo '#pragma D helper registers'
	echo 'uint64_t rbx, r12, r13, r14, r15, rbx_end, r12_end, r13_end, r14_end, r15_end;'
	echo 'dtrace:helper:attach: {'
	for r in rbx r12 r13 r14 r15; do echo "$r = symaddr(\"run_$r\"); ${r}_end = $r + symsize(\"run_$r\"); "; done
	echo '}'
	for r in rbx r12 r13 r14 r15; do
		R=$(echo $r | tr a-z A-Z)
		echo "dtrace:helper:ustack: /arg0 > $r && arg0 < ${r}_end/"
		echo "{ uframe(\"$r: \", copyinstr(*(uint64_t *)uregs[R_$R]), uregs[R_RSP] == arg2 && uregs[R_RIP] == arg0 && uregs[R_RBP] == arg1 ? \"\" : \" wrong\"); }"
	done
} >kept.d
frames() { grep -oE '(rbx|r12|r13|r14|r15): [a-z0-9 ]*' | tr '\n' ' '; echo; }

rm -f met
"$TRIGGER/met" "$DTRACE" -q -x helper=kept.d -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c './kept go wait' >out 2>err
cat err
python3 - <<'X'
import re
blocks = [re.findall(r"(\w+): (\w+(?: wrong)?)", b) for b in open("out").read().split("\n\n")]
blocks = [b for b in blocks if b]
order = ["rbx", "r12", "r13", "r14", "r15"]
want = [[(order[k % 5],) * 2 for k in range(n - 1, -1, -1)] for n in (7, 11)]
print("registers:", "good" if blocks == want else (blocks, want))
X

# the interpreter, over the stopped process and its core file: the same frames
# SIGCONT makes a process runnable before kill returns, so a process that stops twice is not seen in its first stop again.
stopped() {
	until grep -q '^State:.*[TZ]' /proc/$pid/status || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
}
replayed() {
	"$DTRACE" -x helper=kept.d -x jstackframes=200 --helpertrace="$1" 2>&1 | sed -n '/^the stack/,$p' | grep -oE '(rbx|r12|r13|r14|r15): [a-z0-9 ]*' | tr '\n' ' '
	echo
}
./kept s >/dev/null &
pid=$!
stopped
replayed $pid
kill -CONT $pid
stopped
replayed $pid
if command -v gcore >/dev/null; then
	gcore -o core $pid >/dev/null 2>&1
	replayed core.$pid
else
	replayed $pid
fi
kill -CONT $pid
wait $pid

# without the pragma only the interrupted frame has registers
grep -v 'helper registers' kept.d >without.d
rm -f met
"$TRIGGER/met" "$DTRACE" -x helper=without.d -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c './kept go wait' >out 2>err
grep -cE '(rbx|r15): ' out
grep -h -c 'errors* in ustack helpers' err
# with a variable: as without the pragma where it is 0, as with it where it is not
for value in 0 1; do
	{
		sed 's/helper registers/helper registers "wanted"/; s/^uint64_t rbx/uint64_t wanted, rbx/' kept.d
		echo "dtrace:helper:attach: { wanted = $value; }"
	} >wanted.d
	rm -f met
	"$TRIGGER/met" "$DTRACE" -x helper=wanted.d -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c './kept go wait' >out 2>err
	echo "$value: $(grep -cE '(rbx|r15): ' out) $(grep -h -c 'errors* in ustack helpers' err)"
	./kept s >/dev/null &
	pid=$!
	stopped
	"$DTRACE" -x helper=wanted.d -x jstackframes=200 --helpertrace=$pid 2>&1 | sed -n '/^the stack/,$p' | grep -cE '(rbx|r15): '
	kill -CONT $pid
	stopped
	kill -CONT $pid
	wait $pid
done
# what the pragma cannot say
sed 's/helper registers/helper registers all/' kept.d >bad.d
"$DTRACE" -q -x helper=bad.d -n 'BEGIN { jstack(); exit(0); }' 2>&1 | head -n 1
