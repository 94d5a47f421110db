/* SPDX-License-Identifier: MIT */
/*
 * Code that no symbol knows, as just-in-time compilers make it: four functions at a fixed address,
 * one of which calls the next; the last one calls leaf(), which calls getppid() of the C library.
 *
 *     jit N       leaf calls getppid() N times
 *
 * Each function has a slot of SLOT bytes: its code, at NAME a pointer to its name, at TEXT the
 * name. The third function's pointer leads nowhere.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE  0x10000000ul
#define SIZE  4096
#define SLOT  64
#define NAME  32
#define TEXT  40
#define NFUNC 4

static long count;
static volatile long sink;

static void leaf(void)
{
	for (long i = 0; i < count; i++)
		sink += getppid();
}

/* push %rbp; mov %rsp, %rbp; movabs $callee, %rax; call *%rax; pop %rbp; ret */
static void func_make(uint8_t *slot, uintptr_t callee, uintptr_t name, const char *text)
{
	static const uint8_t before[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8};
	static const uint8_t after[] = {0xff, 0xd0, 0x5d, 0xc3};

	memcpy(slot, before, sizeof(before));
	memcpy(slot + sizeof(before), &callee, sizeof(callee));
	memcpy(slot + sizeof(before) + sizeof(callee), after, sizeof(after));
	memcpy(slot + NAME, &name, sizeof(name));
	(void)snprintf((char *)slot + TEXT, SLOT - TEXT, "%s", text);
}

int main(int argc, char **argv)
{
	static const char *const names[NFUNC] = {"compute", "\033[31mred", "lost", "main.js:12"};
	uint8_t *code = mmap((void *)BASE, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (argc < 2 || code != (uint8_t *)BASE)
		return 2;
	count = strtol(argv[1], NULL, 10);
	for (int i = 0; i < NFUNC; i++) {
		uint8_t *slot = code + i * SLOT;
		uintptr_t callee = i ? (uintptr_t)(slot - SLOT) : (uintptr_t)leaf;

		func_make(slot, callee, i == 2 ? 1 : (uintptr_t)slot + TEXT, names[i]);
	}
	((void (*)(void))(uintptr_t)(code + (NFUNC - 1) * SLOT))();
	return 0;
}
