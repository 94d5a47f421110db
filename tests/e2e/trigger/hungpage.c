/*
 * hungpage FILE: a process whose memory may not answer.
 *
 * It has the symbols by which the ustack helper of Python knows an interpreter, and maps a page of
 * the file over the variable that the helper reads first, without ever touching it. It prints "up"
 * and computes for ever.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
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

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0)
		err(1, "usage: hungpage FILE");
	if (mmap((void *)(uintptr_t)Py_Version, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		err(1, "mmap");
	puts("up");
	fflush(stdout);
	return _PyEval_EvalFrameDefault();
}
