/* SPDX-License-Identifier: MIT */
/* The table of functions of a link: each address is where a program looks for it. */
#include "bpf/kfunc_table.h"

#include "tap.h"

struct kernel {
	struct unit u;
	uint64_t *addrs;
	struct place_func *funcs;
};

/* n functions, each at the least multiple of `step` behind the one before, with gaps. */
static struct kernel kernel_make(uint32_t n, uint32_t step)
{
	struct kernel k = {
		.u = {.place = {.kind = PLACE_KFUNC}, .nprobes = n},
		.addrs = xcalloc(n, sizeof(*k.addrs)),
		.funcs = xcalloc(n, sizeof(*k.funcs)),
	};
	uint64_t addr = 0xffffffff81000000;

	k.u.probes = xcalloc(n, sizeof(*k.u.probes));
	for (uint32_t i = 0; i < n; i++) {
		addr += step * (1 + (i * i % 7) * (i % 5));
		k.addrs[i] = addr;
		k.funcs[i] = (struct place_func){.addrs = &k.addrs[i], .naddrs = 1};
		k.u.probes[i] =
			(struct unit_probe){.key = 3 * i, .spot = SPOT_ENTRY, .kfunc = &k.funcs[i]};
	}
	return k;
}

static void kernel_free(struct kernel *k)
{
	free(k->u.probes);
	free(k->addrs);
	free(k->funcs);
}

/* As the program does it. */
static bool has_key(const struct kfunc_table *t, uint64_t addr, uint32_t key)
{
	uint64_t bucket = (uint32_t)((uint64_t)(uint32_t)addr * t->multiplier) >> (32 - t->bits);

	for (uint32_t i = 0; i < KFUNC_BUCKET_SLOTS; i++)
		if (t->buckets[bucket].slot[i].addr == (uint32_t)addr)
			return t->buckets[bucket].slot[i].key == key;
	return false;
}

static void test_found(uint32_t n, uint32_t step)
{
	struct kernel k = kernel_make(n, step);
	struct kfunc_table t, again;
	uint32_t nfound = 0;

	if (!kfunc_table_make(&k.u, &t) || !kfunc_table_make(&k.u, &again)) {
		ok(false, "%u functions have a table", n);
		kernel_free(&k);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		nfound += has_key(&t, k.addrs[i], k.u.probes[i].key);
	is_int(nfound, n, "each function is found");
	ok(1u << t.bits <= 4 * n + 2 && t.multiplier < 1u << 31, "%u buckets for %u functions",
	   1u << t.bits, n);
	ok(t.bits == again.bits && t.multiplier == again.multiplier &&
		   memcmp(t.buckets, again.buckets, sizeof(*t.buckets) << t.bits) == 0,
	   "the same again");
	ok(!has_key(&t, k.addrs[n - 1] + 1, k.u.probes[n - 1].key), "another address is not there");
	kfunc_table_deinit(&t);
	kfunc_table_deinit(&again);
	kernel_free(&k);
}

static void test_none(void)
{
	struct kernel k = kernel_make(40, 16);
	struct kfunc_table t;

	k.addrs[30] = k.addrs[5];
	ok(!kfunc_table_make(&k.u, &t), "two functions with one address");
	k.addrs[30] = k.addrs[5] + (1ull << 32);
	ok(!kfunc_table_make(&k.u, &t), "two with the same lower half of the address");
	k.addrs[30] = 1ull << 32;
	ok(!kfunc_table_make(&k.u, &t), "an address whose lower half is 0");
	k.addrs[30] = 1ull << 31;
	k.u.probes[7].spot = SPOT_RETURN;
	ok(!kfunc_table_make(&k.u, &t), "entries and returns");
	k.u.probes[7].spot = k.u.probes[0].spot;
	k.u.nprobes = 0;
	ok(!kfunc_table_make(&k.u, &t), "no function");
	kernel_free(&k);
}

int main(void)
{
	static const uint32_t counts[] = {1, 2, 3, 9, 35, 1000, 38044, 120000};
	static const uint32_t steps[] = {1, 16, 64, 1024};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		for (size_t k = 0; k < ARRAY_LEN(steps); k++)
			test_found(counts[i], steps[k]);
	test_none();
	return tap_done();
}
