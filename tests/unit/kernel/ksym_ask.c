/* SPDX-License-Identifier: MIT */
/* The kernel says whether it has a symbol. */
#include "tap.h"

#include <errno.h>

#include "kernel/kernel.h"

int main(void)
{
	uint64_t addr, start = 0, end = 0;
	char name[400];

	ok(ksym_ask("schedule", &addr) == 0, "a function");
	ok(ksym_ask("_stext", &start) == 0 && ksym_ask("_etext", &end) == 0 && start < addr &&
		   addr < end,
	   "its address is in the kernel's text");
	ok(ksym_ask("no_such_symbol_of_any_kernel", &addr) == ENOENT, "a name that no symbol has");
	ok(ksym_ask("schedul", &addr) == ENOENT, "the beginning of a name");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ok(ksym_ask(name, &addr) == ENAMETOOLONG, "a long name is not asked for");
	name[255] = '\0';
	ok(ksym_ask(name, &addr) == ENOENT, "the longest name that is");
	return tap_done();
}
