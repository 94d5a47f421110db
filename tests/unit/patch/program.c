/* SPDX-License-Identifier: MIT */
/*
 * A program for the tests of windows: it says where its functions are, and calls them until its
 * input ends. Linked statically, and with -DGO as one that Go's compiler would have marked.
 */
#include "tap.h"

#include "patch/victim.h"

#ifdef GO
/* the head of .go.buildinfo: magic, size of pointers, flag "inline"; then the version */
__attribute__((section(".go.buildinfo"), used, aligned(16))) static const uint8_t info[] =
	"\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08go1.21.0\0";
#endif

int main(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	shared_make();
	printf("%lx\n", (unsigned long)(uintptr_t)victim_add);
	(void)fflush(stdout);
	for (uint64_t i = 0; poll(&in, 1, 0) == 0; i++)
		victim_round(i);
	return 0;
}
