# Code that cannot be executed at the moment, because the JIT compiler that made it writes to it: it is a frame if a helper says where its
# caller is; words that lead into other memory are none, whatever a helper adds there. The interpreter of DIF finds the same in a stopped
# process and in a core file. Such memory is asked about again when it is executable.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >writable.c <<'X'
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "met.h"

#define PAGE 4096
char *code, *other, *data;
static int now; /* which case */

static void ask(void)
{
	syscall(SYS_getpgid, now);
}

static void write_and_ask(void)
{
	mprotect(code, PAGE, PROT_READ | PROT_WRITE);
	code[PAGE - 1]++;
	ask();
	mprotect(code, PAGE, PROT_READ | PROT_EXEC);
}

static void call(char *f, int k, void (*to)(void), char *word)
{
	now = k;
	((void (*)(void (*)(void), char *))f)(to, word);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	/* sub $24,%rsp; call *%rdi; add $24,%rsp; ret */
	static const unsigned char without_pointer[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3};
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char with_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	/* push %rbp; push %rsi; push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; pop %rsi; pop %rbp; ret */
	static const unsigned char wrong[] = {0x55, 0x56, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0x5e, 0x5d, 0xc3};

	(void)argv;
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	data = (char *)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 77;
	memcpy(code, without_pointer, sizeof(without_pointer));
	memcpy(code + 64, with_pointer, sizeof(with_pointer));
	memcpy(other, wrong, sizeof(wrong));
	mprotect(code, PAGE, PROT_READ | PROT_EXEC);
	ask();
	met_wait();
	do {
		call(code, 1, write_and_ask, NULL);
		call(code, 2, ask, NULL);
		call(other, 3, ask, data);
		call(other, 4, ask, data);
		call(code + 64, 5, write_and_ask, NULL);
		call(code + 64, 6, ask, NULL);
		if (argc > 1)
			usleep(1000);
	} while (argc > 1);
	return 0;
}
X
cat >writable.d <<'X'
#pragma D helper exec "writable"
uint64_t code;
dtrace:helper:attach: { code = *(uint64_t *)symaddr("code"); }
dtrace:helper:ustack:
/arg0 - code < 64 && (arg5 || arg6)/
{
	unwind(*(uint64_t *)(arg2 + 24), arg2 + 32, arg1);
	uframe(arg6 ? "@being written" : "@code");
}
dtrace:helper:ustack: /arg6/ { uframe("@memory"); }
X
cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic $met_flags -o writable writable.c || exit 1
# the program's frames
plain() {
	sed -E "s/^ *//; s/^libc[^\`]*\`.*/libc/; s/^writable\`\+0x.*/in the program/; s/^0x.*/address/; s/\+0x[0-9a-f]+//" | uniq
}
{
	"$DTRACE" -q -x helper=writable.d -n 'syscall::getpgid:entry /pid == $target && arg0/ { printf("case %d:\n", arg0); }
		syscall::getpgid:entry /pid == $target && arg0 < 4/ { jstack(20); }
		syscall::getpgid:entry /pid == $target && arg0 == 4/ { jstack(4); }
		syscall::getpgid:entry /pid == $target && arg0 > 4/ { ustack(20); }' -c ./writable 2>&1 | sed -n '/^case 1/,$p' | plain

	MET_NEVER=1 ./writable forever &
	pid=$!
	for k in 1 3; do
		"$DTRACE" -w -q -n 'syscall::getpgid:entry /pid == $1 && arg0 == $2/ { stop(); exit(0); }' $pid $k || {
			echo "case $k: dtrace has ended with status $?"
			break
		}
		until grep -q '^State:.[TZ]' "/proc/$pid/status" || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
		"$DTRACE" -x helper=writable.d --helpertrace=$pid >trace
		echo "case $k, stopped:"
		grep -o 'not executable now.*' trace
		sed -n '/^the stack:/,$p' trace | plain
		if command -v gcore >/dev/null && gcore -o core $pid >/dev/null 2>&1; then
			sed -n '/^the stack:/,$p' trace | sed 's/`.*//' >one
			"$DTRACE" -x helper=writable.d --helpertrace=core.$pid | sed -n '/^the stack:/,$p' | sed 's/`.*//' | diff one -
		fi
		kill -CONT $pid
	done
	kill $pid
	wait $pid 2>/dev/null || :
} 2>&1
