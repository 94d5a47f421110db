/* SPDX-License-Identifier: MIT */
/*
 * hungpage FILE: a process whose memory may not answer.
 *
 * It has the symbols by which the ustack helper of Python knows an interpreter, and maps a page of
 * the file over the variable that the helper reads first, without ever touching it. It prints "up"
 * and computes for ever. The word in which the dynamic linker has stored which implementation of
 * hung_ifunc() is used lies in such a page as well.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

extern const char Py_Version[PAGE];
extern char _PyRuntime[PAGE];
const char Py_Version[PAGE] __attribute__((aligned(PAGE))) = {1};
char _PyRuntime[PAGE] = {1};
int _PyEval_EvalFrameDefault(void);

__attribute__((noinline)) int _PyEval_EvalFrameDefault(void)
{
	volatile int rounds = 0;

	for (;;)
		rounds++;
	return rounds;
}

static int hung_implementation(void)
{
	return 1;
}

__attribute__((used)) static int (*hung_resolver(void))(void)
{
	return hung_implementation;
}

int hung_ifunc(void) __attribute__((ifunc("hung_resolver")));

/* The global offset table, which lies in one or two pages. */
extern char table[] __asm__("_GLOBAL_OFFSET_TABLE_");

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0)
		err(1, "usage: hungpage FILE");
	if (mmap((void *)(uintptr_t)Py_Version, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		err(1, "mmap");
	/* From here on, no function of a library can be called by its word in the table. */
	if (write(hung_ifunc(), "up\n", 3) != 3 ||
	    mmap((void *)((uintptr_t)table & -PAGE), 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
		 fd, 0) == MAP_FAILED)
		return 1;
	return _PyEval_EvalFrameDefault();
}
