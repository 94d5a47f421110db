/* SPDX-License-Identifier: MIT */
/*
 * Makes one getppid system call for each address that it wants to see named: the address is the
 * first argument, which that call does not have.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline, used)) static void show(const void *p)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(SYS_getppid), "D"(p) : "rcx", "r11", "memory");
}

__attribute__((noinline)) void exported(void)
{
	show((const void *)exported);
}

long a_table[16] = {1};
static char zeroes[1 << 16];

void cpp(void) __asm__("_ZN5space5classILi7EE6methodEPKcRSt6vectorIiSaIiEE");
void cpp(void)
{
	show((const void *)cpp);
}

void rust_legacy(void) __asm__("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE");
void rust_legacy(void)
{
	show((const void *)rust_legacy);
}

void rust_v0(void) __asm__("_RNvCskwGfYPst2Cb_3foo3bar");
void rust_v0(void)
{
	show((const void *)rust_v0);
}

/* An assembler function without type and size. */
__asm__(".text\n.globl label\nlabel: nop; nop; ret\n.size after, 0\nafter:\n");
extern char label[];

#ifndef STATIC
static const void *stub(void)
{
	const void *p;

	__asm__("lea getpid@PLT(%%rip), %0" : "=r"(p));
	return p;
}

static const void *vdso(void)
{
	void *h = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return h ? dlsym(h, "__vdso_gettimeofday") : NULL;
}
#endif

/* Waits until the tracer has opened what is watched (see ../trigger/launch.c). */
static void wait_seen(void)
{
	char c;

	if (read(atoi(getenv("LAUNCH_FROM")), &c, 1) != 1)
		exit(1);
}

static void watch(const char *path)
{
	if (write(atoi(getenv("LAUNCH_TO")), path, strlen(path)) < 0)
		exit(1);
	wait_seen(); /* now it is watched */
}

/* show() once more, in memory that no file stands behind; perf-PID.map, whose path goes to the file
 * note, says what it is called. The map appears complete, and is waited for. */
static void jit(const char *note)
{
	/* mov $SYS_getppid, %eax */
	static const unsigned char code[] = {0xb8, SYS_getppid, 0, 0, 0, 0x0f, 0x05, /* syscall */
					     0xc3};				     /* ret */
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64], early[80];
	FILE *f;

	if (p == MAP_FAILED)
		exit(1);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	(void)snprintf(early, sizeof(early), "%s.early", path);
	f = fopen(early, "w");
	if (!f)
		exit(1);
	(void)fprintf(f, "%lx 100 Old:code that was here\n%lx %zx Function:fib made.js:7\n",
		      (unsigned long)p, (unsigned long)(p + 64), sizeof(code));
	(void)fclose(f);
	if (getenv("FOREIGN") && chown(early, 65534, 65534) != 0)
		exit(1);
	watch(early);
	(void)rename(early, path);
	wait_seen();
	f = fopen(note, "w");
	if (!f || fputs(path, f) < 0 || fclose(f))
		exit(1);
	memcpy(p + 64, code, sizeof(code));
	((void (*)(const void *))(p + 64))(p + 66);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";

	if (strcmp(what, "unlink") == 0)
		(void)unlink(argv[0]);
	if (strcmp(what, "replace") == 0)
		(void)rename(argv[2], argv[0]);
	if (getenv("LAUNCH_FROM"))
		wait_seen();
	if (strcmp(what, "jit") == 0) {
		jit(argv[2]);
		return 0;
	}
	show((const char *)show + 1);
	exported();
	show(a_table + 1);
	show(zeroes + 16);
	show(label + 1);
#ifndef STATIC
	show(stub());
	show((const void *)getenv);
	show(vdso());
#endif
	if (strcmp(what, "mangled") == 0) {
		cpp();
		rust_legacy();
		rust_v0();
	}
	if (strcmp(what, "exec") == 0)
		(void)execv(argv[2], (char *[]){argv[2], NULL});
	return 0;
}
