/* SPDX-License-Identifier: MIT */
/*
 * Programs whose header is older or newer than the library: structures in their memory are filled
 * as far as they have them, and not beyond (dtrace.h, "Growth").
 */
#include <stddef.h>

/*
 * Other names for two inline functions of the header: a compiler that does not put them in place
 * makes functions of them, and these must not have the names of the library's symbols below.
 */
#define dtrace_ulookup_by_addr inlined_ulookup_by_addr
#define dtrace_program_exec    inlined_program_exec
#include "api.h"

/* The symbols of the library, which the header's inline functions hide. */
extern int symbol_ulookup(dtrace_hdl_t *dtp, pid_t pid, uint64_t addr,
			  void *ret_info) __asm__("dtrace_ulookup_by_addr");
extern int symbol_exec(dtrace_hdl_t *dtp, dtrace_prog_t *pgp,
		       void *info) __asm__("dtrace_program_exec");

struct old_syminfo { /* as the first version of the header had it */
	const char *object, *name;
	uint64_t offset;
};

struct new_syminfo { /* as a later version may have it */
	dtrace_syminfo_t known;
	uint64_t unknown[4];
};

#define CANARY 0x5a5a5a5a5a5a5a5aull

__attribute__((noinline)) static void function_named(void)
{
	__asm__ volatile("nop; nop; nop"); /* an offset of 1 is inside of it */
}

/* What nm says of a function of this program, which is position independent: from its beginning. */
static uint64_t file_address(const void *func)
{
	extern const char __executable_start[];

	return (uint64_t)((const char *)func - __executable_start);
}

static void test_lookup(dtrace_hdl_t *h)
{
	uint64_t addr = (uint64_t)(uintptr_t)&function_named;
	struct {
		struct old_syminfo info;
		uint64_t canary;
	} old = {.canary = CANARY};
	struct new_syminfo later;
	dtrace_syminfo_t info;

	memset(&info, 0x5a, sizeof(info));
	is_int(dtrace_ulookup_by_addr(h, getpid(), addr + 1, &info), 0, "the header of today");
	is_str(info.dts_name, "function_named", "its name");
	is_int((int64_t)info.dts_offset, 1, "its offset");
	is_int(info.dts_has_file_addr, 1, "there is a file");
	is_int((int64_t)info.dts_file_addr, (int64_t)file_address(&function_named) + 1,
	       "the address in the file");

	is_int(dtrace_ulookup_by_addr_sized(h, getpid(), addr, (dtrace_syminfo_t *)(void *)&old,
					    sizeof(old.info)),
	       0, "an older header, which knows its size");
	is_str(old.info.name, "function_named", "its name");
	is_int((int64_t)old.canary, (int64_t)CANARY, "nothing is written behind it");

	old.info.name = NULL;
	is_int(symbol_ulookup(h, getpid(), addr, &old), 0, "the oldest header, or none");
	is_str(old.info.name, "function_named", "its name");
	is_int((int64_t)old.canary, (int64_t)CANARY, "nothing is written behind it");

	memset(&later, 0x5a, sizeof(later));
	is_int(dtrace_ulookup_by_addr_sized(h, getpid(), addr, &later.known, sizeof(later)), 0,
	       "a newer header than the library");
	is_str(later.known.dts_name, "function_named", "its name");
	is_int(later.known.dts_has_file_addr, 1, "what the library knows");
	ok(!later.unknown[0] && !later.unknown[3], "what it does not know is 0");

	memset(&later, 0x5a, sizeof(later));
	is_int(dtrace_ulookup_by_addr_sized(h, getpid(), 0x10, &later.known, sizeof(later)), -1,
	       "an address without a name");
	is_int((int64_t)later.unknown[0], (int64_t)CANARY, "a failure writes nothing");
	is_int(dtrace_lookup_by_addr(h, 0x10, &info), -1, "nor has the kernel one there");
}

static void test_kernel(dtrace_hdl_t *h)
{
	char line[256], type, name[128];
	unsigned long long addr = 0;
	dtrace_syminfo_t info;
	FILE *fp = fopen("/proc/kallsyms", "re");

	while (fp && fgets(line, sizeof(line), fp))
		if (sscanf(line, "%llx %c %127s", &addr, &type, name) == 3 &&
		    strcmp(name, "schedule") == 0)
			break;
	if (fp)
		(void)fclose(fp);
	is_int(dtrace_lookup_by_addr(h, addr, &info), 0, "schedule()");
	is_int(info.dts_has_file_addr, 0, "the kernel's functions are in no file");
	is_int((int64_t)info.dts_file_addr, 0, "so there is no address");
}

static void test_program(dtrace_hdl_t *h)
{
	struct {
		uint32_t info[4];
		uint64_t canary;
	} old = {.canary = CANARY};
	struct {
		dtrace_proginfo_t known;
		uint32_t unknown;
	} later = {.unknown = 1};
	dtrace_prog_t *p = dtrace_program_strcompile(h, "BEGIN { @ = count(); trace(1); }",
						     DTRACE_PROBESPEC_NAME, 0, 0, NULL);
	dtrace_proginfo_t info;

	is_int(symbol_exec(h, p, &old), 0, "the symbol of the library");
	ok(old.info[0] == 1 && old.info[1] == 1 && old.info[2] == 1 && old.info[3] == 1,
	   "what is said of the program: %u %u %u %u", old.info[0], old.info[1], old.info[2],
	   old.info[3]);
	is_int((int64_t)old.canary, (int64_t)CANARY, "nothing is written behind it");
	is_int(dtrace_program_exec_sized(h, p, &later.known, sizeof(later)), 0, "a newer header");
	ok(later.known.dpi_matches == 1 && !later.unknown, "what it alone knows is 0");
	memset(&info, 0x5a, sizeof(info));
	dtrace_program_info(h, p, &info);
	is_int(info.dpi_aggregates, 1, "the header of today");
	is_int(dtrace_program_exec(h, p, NULL), 0, "nobody asks");
}

int main(void)
{
	dtrace_hdl_t *h = api_open();

	if (!h)
		return tap_done();
	test_program(h);
	if (api_go(h, "BEGIN { }")) { /* names are known while a session runs */
		test_lookup(h);
		test_kernel(h);
	}
	(void)dtrace_close(h);
	return tap_done();
}
