/* SPDX-License-Identifier: MIT */
/* Facts of the provider tables: rates of profile, numbers of system calls. */
#include <sys/syscall.h>

#include "provider/providers.h"
#include "provider/syscalls.h"
#include "tap.h"

static const struct {
	const char *text;
	uint64_t period_ns; /* 0: not a rate */
} rates[] = {
	{"97", 1000000000 / 97},
	{"1", 1000000000},
	{"5000", 200000},
	{"5001", 0},
	{"4999hz", 1000000000 / 4999},
	{"1HZ", 1000000000},
	{"200us", 200000},
	{"199us", 0},
	{"200000ns", 200000},
	{"200000nsec", 200000},
	{"250usec", 250000},
	{"1ms", 1000000},
	{"10msec", 10000000},
	{"1s", 1000000000},
	{"7SEC", 7000000000},
	{"1m", 60000000000},
	{"2min", 120000000000},
	{"1h", 3600000000000},
	{"1hour", 3600000000000},
	{"1d", 86400000000000},
	{"1day", 86400000000000},
	{"0", 0},
	{"0s", 0},
	{"", 0},
	{"s", 0},
	{"-1s", 0},
	{"+1s", 0},
	{"1.5s", 0},
	{"0x10", 0},
	{"5x", 0},
	{"5 s", 0},
	{"5ss", 0},
	{"99999999999999999999", 0},
	{"9999999999999d", 0},
};

static void test_rates(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		uint64_t ns = 0;
		bool is_rate = profile_period_parse(rates[i].text, &ns);

		ok(is_rate == (rates[i].period_ns != 0) && ns == rates[i].period_ns,
		   "'%s' is %llu ns", rates[i].text, (unsigned long long)rates[i].period_ns);
	}
}

static const struct {
	const char *name;
	int nr64, nr32;
} numbers[] = {
	{"read", SYS_read, 3},
	{"openat", SYS_openat, 295},
	{"exit_group", SYS_exit_group, 252},
	{"getppid", SYS_getppid, 64},
	{"bpf", SYS_bpf, 357},
	{"futex_waitv", 449, 449},
	{"cachestat", 451, 451},
	{"mseal", 462, 462},
	{"file_setattr", 469, 469},
	{"uprobe", 336, -1},
	{"socketcall", -1, 102},
	{"stat64", -1, 195},
	{"umount2", SYS_umount2, 52},
	{"umount", -1, 22},
};

static void test_syscalls(void)
{
	bool seen64[1024] = {false}, seen32[1024] = {false};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const struct syscall_row *r = syscall_find(numbers[i].name);

		ok(r && r->nr64 == numbers[i].nr64 && r->nr32 == numbers[i].nr32, "numbers of %s",
		   numbers[i].name);
	}
	for (uint32_t i = 0; i < syscall_nrows; i++) {
		const struct syscall_row *r = &syscall_rows[i];

		if (r->nr64 >= 0 && seen64[r->nr64])
			ok(false, "%s has an x86-64 number of its own", r->name);
		if (r->nr32 >= 0 && seen32[r->nr32])
			ok(false, "%s has an i386 number of its own", r->name);
		if (r->nr64 >= 0)
			seen64[r->nr64] = true;
		if (r->nr32 >= 0)
			seen32[r->nr32] = true;
		if (r->nr64 < 0 && r->nr32 < 0)
			ok(false, "%s has a number", r->name);
	}
	ok(syscall_nrows * 2 <= syscall_ID_COUNT, "all rows have ids");
	ok(syscall_find("uselib") == NULL, "no uselib");
	is_str(syscall_find("stat")->tracefs, "newstat", "tracefs says newstat");
}

/* Both sources of what the kernel has must agree on the calls everybody makes. */
static void test_kernel(void)
{
	static const char *const common[] = {"read",   "getpid",     "fork",
					     "openat", "exit_group", "stat"};
	struct syscall_kernel k;

	syscall_kernel_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(common); i++)
		ok(syscall_kernel_has(&k, syscall_find(common[i])), "the kernel has %s", common[i]);
	ok(hashmap_count(k.names) > 300, "%zu calls from %s", hashmap_count(k.names),
	   k.is_btf ? "BTF" : "tracefs");
	syscall_kernel_deinit(&k);
}

int main(void)
{
	test_rates();
	test_syscalls();
	test_kernel();
	return tap_done();
}
