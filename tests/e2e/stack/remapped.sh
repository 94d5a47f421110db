# SPDX-License-Identifier: MIT
# A walk that finds no code at an address does not remember that: a library is mapped there a moment later. A program has the address of a call in a
# library on its stack, as a return address, while the library is not mapped; then it opens the library, and makes that call.
# @@needs: kernel
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >lib.c <<'X'
void deep(void (*f)(void))
{
	f();
	__asm__ volatile("" ::: "memory");
}
X
cat >remap.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
/* getppid() in a function whose return address is another one meanwhile */
void asks_from(void *at);
__asm__(".text\n.type asks_from, @function\nasks_from:\n.cfi_startproc\n"
	"pop %rdx\npush %rdi\nmov $110, %eax\nsyscall\npop %rdi\npush %rdx\nret\n"
	".cfi_endproc\n.size asks_from, . - asks_from");
static void *at;
static void note(void) { at = __builtin_return_address(0); }
/* getpgrp(), of which the test wants whole stacks */
static void asks(void)
{
	long nr = SYS_getpgrp;

	__asm__ volatile("syscall" : "+a"(nr) : : "rcx", "r11", "memory");
}
int main(void)
{
	Dl_info info;
	int n = 0;

	for (int i = 0; i < 20; i++) {
		void *lib = dlopen("./lib.so", RTLD_NOW), *was;
		void (*deep)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(lib, "deep");

		deep(note);
		was = at;
		dlclose(lib);
		if (dladdr(was, &info))
			return 1;
		asks_from(was);
		lib = dlopen("./lib.so", RTLD_NOW);
		deep = (void (*)(void (*)(void)))dlsym(lib, "deep");
		deep(note);
		n += at == was;
		deep(asks);
		dlclose(lib);
	}
	if (!n)
		fprintf(stderr, "the library was never mapped at the same address\n");
	return 0;
}
X
cc -O1 -shared -fPIC -o lib.so lib.c && cc -O1 -o remap remap.c -ldl || exit 1
"$DTRACE" -q -x bufsize=16m -n '
	syscall::getppid:entry /pid == $target/ { @[ustack(9)] = count(); }
	syscall::getpgrp:entry /pid == $target/ { printf("\nat\n"); ustack(9); }
	END { trunc(@); }' -c ./remap >out 2>err || { cat err; exit 1; }
cat err
awk '
	/^at$/ { n++; next }
	/`main\+/ { whole++ }
	/\[/ { marks++ }
	END { print n + 0 " stacks, " whole + 0 " to main(), " marks + 0 " marks" }' out
