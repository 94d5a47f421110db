# SPDX-License-Identifier: MIT
# A process of -c waits for the unwind tables of what it maps and executes while it runs: stacks are whole from the first one on that a
# library is in which has a large table, and which was opened a moment before; the same of a program that the process executes in its place, and of
# a library that is built anew while the program runs, so that another file has the name and the inode of the one before.
# @@needs: kernel
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
# frames without frame pointers, in the midst of 40,000 others
cat >large.S <<'X'
	.text
	.globl deep
	.type deep, @function
deep:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	sub $48, %rsp
	.cfi_adjust_cfa_offset 48
	xor %ebp, %ebp
	mov %rdi, %rbx
	mov $110, %eax /* getppid() */
	syscall
	add $48, %rsp
	.cfi_adjust_cfa_offset -48
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size deep, . - deep
	.rept 40000
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack,"",@progbits
X
cat >opens.c <<'X'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void deep(void);
int main(int argc, char **argv)
{
	void *lib;
	void (*f)(void);

#ifdef LINKED
	f = deep;
#else
	if (argc > 2) {
		execv(argv[2], argv + 2);
		return 1;
	}
	lib = dlopen("./large.so", RTLD_NOW);
	f = lib ? (void (*)(void))dlsym(lib, "deep") : NULL;
#endif
	for (int i = 0; f && i < 50; i++) {
		__asm__ volatile("push %%rbp\n\t.cfi_adjust_cfa_offset 8\n\tcall *%0\n\tpop %%rbp\n\t.cfi_adjust_cfa_offset -8" : : "r"(f) : "rax", "rcx", "r11", "rdi", "memory");
	}
	return !f;
}
X
cat >reload.c <<'X'
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>
/* Opens one file after the other as ./again.so, which is one inode. */
int main(int argc, char **argv)
{
	int to = open("again.so", O_WRONLY | O_CREAT, 0755), n = 0;

	for (int i = 1; i < argc; i++) {
		int from = open(argv[i], O_RDONLY);
		void *lib;
		void (*f)(void);

		if (ftruncate(to, 0) || lseek(to, 0, SEEK_SET))
			return 1;
		while (sendfile(to, from, NULL, 1 << 20) > 0)
			;
		lib = dlopen("./again.so", RTLD_NOW);
		f = lib ? (void (*)(void))dlsym(lib, "deep") : NULL;
		for (int k = 0; f && k < 25; k++, n++)
			__asm__ volatile("push %%rbp\n\t.cfi_adjust_cfa_offset 8\n\tcall *%0\n\tpop %%rbp\n\t.cfi_adjust_cfa_offset -8" : : "r"(f) : "rax", "rcx", "r11", "rdi", "memory");
		if (!f || dlclose(lib))
			return 1;
	}
	return n == 0;
}
X
cc -shared -o large.so large.S || exit 67
sed 's/sub \$48/sub $64/; s/add \$48/add $64/; s/cfa_offset 48/cfa_offset 64/; s/cfa_offset -48/cfa_offset -64/; s/40000/30000/' large.S >other.S
cc -shared -o other.so other.S && cc -O1 -mno-red-zone -fomit-frame-pointer -o reload reload.c -ldl || exit 1
cc -O1 -mno-red-zone -fomit-frame-pointer -o opens opens.c -ldl || exit 1
cc -O1 -mno-red-zone -fomit-frame-pointer -DLINKED -o linked opens.c large.S || exit 1
stacks() { # what, command, clauses beside
	"$DTRACE" -q -x bufsize=16m -n 'syscall::getppid:entry /pid == $target/ { printf("\nat\n"); ustack(30); }'"$3" -c "$2" >out 2>err || { cat err; exit 1; }
	# of another test, which runs at the same time
	grep -v 'does not answer\|answer too slowly' err
	awk -v what="$1" '
		/^at$/ { n++; next }
		/`main\+/ { whole++ }
		/\[/ { marks++ }
		END { print what ": " n + 0 " stacks, " whole + 0 " to main(), " marks + 0 " marks" }' out
}
stacks opened ./opens
stacks executed './opens 1 ./linked'
stacks reloaded './reload large.so other.so'
# a clause is about the process, and follows it, too
stacks named ./opens ' pid$target:opens:main:entry { printf("begins\n"); }'
exit 0
