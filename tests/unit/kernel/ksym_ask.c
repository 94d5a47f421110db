/* The kernel says whether it has a symbol. */
#include "tap.h"

#include <errno.h>

#include "kernel/kernel.h"

int main(void)
{
	char name[400];

	ok(ksym_ask("schedule") == 0, "a function");
	ok(ksym_ask("no_such_symbol_of_any_kernel") == ENOENT, "a name that no symbol has");
	ok(ksym_ask("schedul") == ENOENT, "the beginning of a name");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ok(ksym_ask(name) == ENAMETOOLONG, "a long name is not asked for");
	name[255] = '\0';
	ok(ksym_ask(name) == ENOENT, "the longest name that is");
	return tap_done();
}
