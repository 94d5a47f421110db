/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: memory, hashes, arithmetic, buckets, fault records, each checked against what C
 * says.
 *
 * The string subroutines are compared with the interpreter in rt_prop.c; here are their edges.
 */
#include "rt_fixture.h"
#include "tap.h"

#include <sys/mman.h>

#include "record/llquantize.h"
#include "dif/dif.h"

#define STRSIZE 64u
#define GVARS	2048u
#define THIS	64u
#define SCRATCH 1024u

static struct rt_fx *fx;

static uint64_t call(const char *func, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t args[4] = {a, b, c};

	return rt_fx_call(fx, func, args, 4);
}

static uint64_t again(const char *func, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t args[4] = {a, b, c};

	return rt_fx_again(fx, func, args, 4);
}

/* Text in the global variables at off. */
static uint64_t text(uint32_t off, const char *s)
{
	memcpy(fx->gvars + off, s, strlen(s) + 1);
	return rt_fx_gvar(fx, off);
}

static void is_fault(enum dif_fault kind, uint64_t value, const char *name)
{
	is_int(fx->mach->fault.kind, kind, name);
	is_int(fx->mach->fault.value, value, name);
}

static void is_text(uint64_t addr, const char *want, const char *name)
{
	const char *got = rt_fx_at(fx, addr);

	if (fx->mach->fault.kind || !got)
		ok(false, "%s: fault %u, address %llx", name, fx->mach->fault.kind,
		   (unsigned long long)addr);
	else
		is_str(got, want, name);
}

/* ---- memory ----------------------------------------------------------------------------- */

#define HEAD (uint32_t)sizeof(struct rt_block)

static void test_alloca(void)
{
	static const struct {
		const char *func;
		uint32_t head;
	} rows[] = {{"rt_allocs", 0}, {"rt_sub_alloca", HEAD}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *func = rows[i].func;
		uint32_t head = rows[i].head;
		uint64_t base = fx->mach->scratch + head;

		is_int(call(func, 5, 0, 0), base, "first at the start");
		is_int(fx->mach->scratch_top, head + 8, "rounded up");
		is_int(again(func, 16, 0, 0), base + 8 + head, "next");
		is_int(again(func, 0, 0, 0), base + 24 + 2 * head, "nothing has an address");
		is_int(fx->mach->scratch_top, 24 + 3 * head, "and takes nothing");
		is_int(again(func, SCRATCH - 23 - 4 * head, 0, 0), 0, "too much");
		is_fault(DIF_FAULT_NOSCRATCH, 0, "too much");
		is_int(fx->mach->scratch_top, 24 + 3 * head, "takes nothing");
		is_int(call(func, UINT64_MAX, 0, 0), 0, "more than there is");
		is_fault(DIF_FAULT_NOSCRATCH, 0, "more than there is");
		is_int(call(func, UINT64_MAX - head + 1, 0, 0), head ? 0 : base, "nor by overflow");
		is_int(call(func, SCRATCH - head, 0, 0), base, "all of it");
	}
}

/* Reads where there are blocks of 5 and 0 bytes, 16 bytes that are none, a block of 8. */
static void read_blocks(uint64_t addr, uint64_t size)
{
	(void)call("rt_sub_alloca", 5, 0, 0);
	(void)again("rt_sub_alloca", 0, 0, 0);
	(void)again("rt_allocs", 16, 0, 0);
	(void)again("rt_sub_alloca", 8, 0, 0);
	(void)again("rt_readable", addr, size, 0);
}

/* What lies inside one block may be read, and what touches none. */
static void test_blocks(void)
{
	static const struct {
		uint64_t off, size;
		bool good;
	} rows[] = {
		{HEAD, 5, true},	   {HEAD + 4, 1, true},
		{HEAD, 6, false},	   {HEAD + 5, 1, false},
		{HEAD + 7, 1, false},	   {HEAD - 1, 1, false},
		{0, HEAD, false},	   {0, 1, false},
		{HEAD + 8, 8, false},	   {HEAD + 4, 30, false},
		{2 * HEAD + 8, 16, true},  {2 * HEAD + 16, 8, true},
		{2 * HEAD + 8, 17, false}, {2 * HEAD + 24, 8, false},
		{3 * HEAD + 24, 8, true},  {3 * HEAD + 31, 1, true},
		{3 * HEAD + 31, 2, false}, {3 * HEAD + 32, 1, false},
		{UINT64_MAX, 1, false},	   {HEAD, UINT64_MAX, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		read_blocks(fx->mach->scratch + rows[i].off, rows[i].size);
		ok(!fx->mach->fault.kind == rows[i].good, "%llu bytes at %llu of scratch memory",
		   (unsigned long long)rows[i].size, (unsigned long long)rows[i].off);
	}
	read_blocks(rt_fx_gvar(fx, 0), 8);
	is_int(fx->mach->fault.kind, 0, "reading elsewhere in the kernel");
	read_blocks(fx->mach->scratch + HEAD + 1, 5);
	is_fault(DIF_FAULT_BADADDR, fx->mach->scratch + HEAD + 1, "reading past it");
	read_blocks(fx->mach->scratch - 100, 8);
	is_fault(DIF_FAULT_BADADDR, fx->mach->scratch - 100, "reading before scratch memory");
}

static void test_copyin(void)
{
	char buf[300];
	uint64_t r, ua = (uint64_t)(uintptr_t)buf;

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (char)(i * 7);
	r = call("rt_sub_copyin", ua, sizeof(buf), 0);
	is_int(fx->mach->fault.kind, 0, "copyin works");
	ok(memcmp(rt_fx_at(fx, r), buf, sizeof(buf)) == 0, "copyin copies");
	(void)call("rt_sub_copyin", ua, SCRATCH + 1, 0);
	is_fault(DIF_FAULT_NOSCRATCH, 0, "copyin of more than scratch");
	(void)call("rt_sub_copyin", 1, 8, 0);
	is_fault(DIF_FAULT_BADADDR, 1, "copyin from a bad address");
	(void)call("rt_sub_copyin", 1, 0, 0);
	is_int(fx->mach->fault.kind, 0, "copyin of nothing does not look");

	(void)call("rt_sub_alloca", 100, 0, 0);
	(void)again("rt_sub_copyinto", ua, 40, fx->mach->scratch + 56);
	is_int(fx->mach->fault.kind, 0, "copyinto works");
	ok(memcmp(fx->scratch + 56, buf, 40) == 0, "copyinto copies");
	(void)again("rt_sub_copyinto", ua, 53, fx->mach->scratch + 56);
	is_fault(DIF_FAULT_BADADDR, fx->mach->scratch + 56, "copyinto past what was taken");
	(void)call("rt_sub_copyinto", ua, 8, rt_fx_gvar(fx, 0));
	is_fault(DIF_FAULT_BADADDR, rt_fx_gvar(fx, 0), "copyinto a variable");
	(void)call("rt_sub_copyinto", ua, 0, 0);
	is_int(fx->mach->fault.kind, 0, "copyinto of nothing");
	(void)call("rt_sub_alloca", 16, 0, 0);
	(void)again("rt_sub_copyinto", 3, 8, fx->mach->scratch + HEAD);
	is_fault(DIF_FAULT_BADADDR, 3, "copyinto from a bad address");
}

static void test_copyinstr(void)
{
	static const char s[] =
		"the quick brown fox jumps over the lazy dog, and then over the next one";
	uint64_t ua = (uint64_t)(uintptr_t)s;
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char want[STRSIZE];

	memcpy(want, s, STRSIZE - 1);
	want[STRSIZE - 1] = '\0';
	is_text(call("rt_sub_copyinstr", ua, UINT64_MAX, 0), want, "copyinstr cuts at strsize");
	is_int(fx->mach->scratch_top, STRSIZE, "a string takes strsize");
	is_text(call("rt_sub_copyinstr", ua, 9, 0), "the quick", "copyinstr cuts at max");
	is_text(call("rt_sub_copyinstr", ua, 0, 0), "", "copyinstr of nothing");
	is_text(call("rt_sub_copyinstr", ua, STRSIZE - 1, 0), want, "copyinstr, max = strsize - 1");
	(void)call("rt_sub_copyinstr", 5, UINT64_MAX, 0);
	is_fault(DIF_FAULT_BADADDR, 5, "copyinstr from a bad address");
	memcpy(two + page - 4, "end", 4);
	(void)munmap(two + page, (size_t)page);
	is_text(call("rt_sub_copyinstr", (uint64_t)(uintptr_t)two + (uint64_t)page - 4, UINT64_MAX,
		     0),
		"end", "copyinstr does not look past the NUL");
	(void)munmap(two, (size_t)page);
	for (uint32_t i = 0; i < SCRATCH / STRSIZE; i++)
		(void)(i ? again : call)("rt_sub_copyinstr", ua, 3, 0);
	is_int(fx->mach->fault.kind, 0, "as many strings as fit");
	(void)again("rt_sub_copyinstr", ua, 3, 0);
	is_fault(DIF_FAULT_NOSCRATCH, 0, "one more");
}

static void test_bcopy(void)
{
	uint64_t src = text(0, "0123456789abcdef");

	(void)call("rt_sub_alloca", 16, 0, 0);
	(void)again("rt_sub_bcopy", src, fx->mach->scratch + 12, 10);
	is_int(fx->mach->fault.kind, 0, "bcopy works");
	ok(memcmp(fx->scratch + 12, "0123456789", 10) == 0, "bcopy copies");
	(void)again("rt_sub_bcopy", src, fx->mach->scratch + 16, 9);
	is_fault(DIF_FAULT_BADADDR, fx->mach->scratch + 16, "bcopy past what was taken");
	(void)call("rt_sub_alloca", 16, 0, 0);
	(void)again("rt_sub_bcopy", 8, fx->mach->scratch + HEAD, 8);
	is_fault(DIF_FAULT_BADADDR, 8, "bcopy from a bad address");
	(void)call("rt_sub_bcopy", 8, 8, 0);
	is_int(fx->mach->fault.kind, 0, "bcopy of nothing");
}

static void test_store(void)
{
	uint64_t gv = rt_fx_gvar(fx, 0), self = fx->mach->self + sizeof(struct rt_mach), v = 0;
	static const uint64_t sizes[] = {1, 2, 4, 8};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint64_t n = sizes[i];

		memset(fx->gvars, 0, 16);
		(void)call("rt_store", gv + 8, 0x1122334455667788ull, n);
		v = 0;
		memcpy(&v, fx->gvars + 8, 8);
		is_int(v,
		       n == 8 ? 0x1122334455667788ll : 0x1122334455667788ll & ((1ll << 8 * n) - 1),
		       "store to a global");
		(void)call("rt_store", self + THIS - n, UINT64_MAX, n);
		is_int(fx->mach->fault.kind, 0, "store to the end of this->");
		ok((uint8_t)fx->mach_value[sizeof(struct rt_mach) + THIS - 1] == 0xff, "is there");
		(void)call("rt_store", self + THIS, 1, n);
		is_fault(DIF_FAULT_BADADDR, self + THIS, "store past this->");
		(void)call("rt_store", self - 8, 1, n);
		is_fault(DIF_FAULT_BADADDR, self - 8, "store before this->");
		(void)call("rt_store", gv + GVARS, 1, n);
		is_fault(DIF_FAULT_BADADDR, gv + GVARS, "store past the globals");
		(void)call("rt_store", gv - n, 1, n);
		is_fault(DIF_FAULT_BADADDR, gv - n, "store before the globals");
		(void)call("rt_store", fx->mach->scratch, 1, n);
		is_fault(DIF_FAULT_BADADDR, fx->mach->scratch, "store to scratch not taken");
		(void)call("rt_sub_alloca", 8, 0, 0);
		(void)again("rt_store", fx->mach->scratch + HEAD + 8 - n, 0x4242424242424242ull, n);
		is_int(fx->mach->fault.kind, 0, "store to the end of what was taken");
		is_int(fx->scratch[HEAD + 7], 0x42, "is there");
		(void)again("rt_store", fx->mach->scratch + HEAD + 8, 0, n);
		is_fault(DIF_FAULT_BADADDR, fx->mach->scratch + HEAD + 8, "store past it");
		(void)call("rt_store", 0, 1, n);
		is_fault(DIF_FAULT_BADADDR, 0, "store to NULL");
	}
	(void)call("rt_store", gv + 1, 1, 4);
	is_fault(DIF_FAULT_BADALIGN, gv + 1, "store not aligned");
	(void)call("rt_store", gv + GVARS - 2, 1, 4);
	is_fault(DIF_FAULT_BADADDR, gv + GVARS - 2, "partly outside comes before not aligned");
}

static void test_copys(void)
{
	uint64_t src = text(0, "copied to all three windows"), gv = rt_fx_gvar(fx, 256);
	uint64_t self = fx->mach->self + sizeof(struct rt_mach);

	(void)call("rt_copys", src, 28, gv);
	is_text(gv, "copied to all three windows", "copys to a global");
	(void)call("rt_copys", src, 28, self + 3);
	is_text(self + 3, "copied to all three windows", "copys to this->");
	(void)call("rt_sub_alloca", 32, 0, 0);
	(void)again("rt_copys", src, 28, fx->mach->scratch + HEAD + 1);
	is_text(fx->mach->scratch + HEAD + 1, "copied to all three windows", "copys to scratch");
	(void)call("rt_copys", src, THIS, self + 1);
	is_fault(DIF_FAULT_BADADDR, self + 1, "copys past this->");
	(void)call("rt_copys", src, UINT64_MAX - 8, gv);
	is_fault(DIF_FAULT_BADADDR, gv, "copys of far too much");
	(void)call("rt_copys", 16, 8, gv);
	is_fault(DIF_FAULT_BADADDR, 16, "copys from a bad address");
	(void)call("rt_copys", src, GVARS, rt_fx_gvar(fx, 0));
	is_int(fx->mach->fault.kind, 0, "copys of a whole window");
	(void)call("rt_copys", 1, 0, 1);
	is_int(fx->mach->fault.kind, 0, "copys of nothing");
}

/* ---- strings ---------------------------------------------------------------------------- */

static void test_strcmp(void)
{
	static const struct {
		const char *a, *b;
	} rows[] = {
		{"", ""},
		{"a", ""},
		{"", "a"},
		{"abc", "abc"},
		{"abc", "abd"},
		{"abcdefgh", "abcdefgh"},
		{"abcdefg", "abcdefgh"},
		{"abcdefghi", "abcdefgh"},
		{"abcdefghijklmnop", "abcdefghijklmnoq"},
		{"\xff", "a"},
		{"aaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaa"},
		{"zbcdefghijklmnop", "abcdefghijklmnoz"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t a = text(0, rows[i].a), b = text(512, rows[i].b);
		int want = strcmp(rows[i].a, rows[i].b);
		int64_t got = (int64_t)call("rt_strcmp", a, b, 0);

		ok((got > 0) == (want > 0) && (got < 0) == (want < 0), "strcmp %s, %s", rows[i].a,
		   rows[i].b);
	}
	is_int(call("rt_strcmp", 0, 0, 0), 0, "NULL equals NULL");
	is_int(call("rt_strcmp", 0, text(0, ""), 0), 0, "NULL equals the empty string");
	ok((int64_t)call("rt_strcmp", 0, text(0, "x"), 0) < 0, "NULL is less than a text");
	memset(fx->gvars, 'x', 512);
	memcpy(fx->gvars + 512, fx->gvars, 512);
	fx->gvars[STRSIZE - 1] = 'a';
	is_int(call("rt_strcmp", rt_fx_gvar(fx, 0), rt_fx_gvar(fx, 512), 0), 0,
	       "equal up to strsize - 1 is equal");
	(void)call("rt_strcmp", text(0, "a"), 3, 0);
	is_fault(DIF_FAULT_BADADDR, 3, "strcmp of a bad address");
}

static void test_hash(void)
{
	uint64_t hashes[STRSIZE + 40], seen = 0;
	uint64_t a;

	/* one bit, or one byte more, makes another hash; garbage behind the NUL does not */
	for (uint32_t i = 0; i < STRSIZE; i++) {
		memset(fx->gvars, 'q', i);
		memset(fx->gvars + i, 0, STRSIZE);
		hashes[i] = call("rt_strhash", rt_fx_gvar(fx, 0), 0, 0);
		for (uint32_t j = 0; j < i; j++)
			seen += hashes[i] == hashes[j];
		memset(fx->gvars + i + 1, 0x55, STRSIZE);
		seen += hashes[i] != call("rt_strhash", rt_fx_gvar(fx, 0), 0, 0);
	}
	is_int(seen, 0, "lengths differ, garbage does not matter");
	for (uint32_t i = STRSIZE; i-- > 0;) { /* what stood there before is longer each time */
		memset(fx->gvars, 'q', i);
		memset(fx->gvars + i, 0, STRSIZE);
		a = call("rt_sub_strjoin", rt_fx_gvar(fx, 0), text(512, ""), 0);
		seen += hashes[i] != again("rt_strhash", a, 0, 0);
	}
	is_int(seen, 0, "a text that a subroutine has returned has the same hash");
	is_int(call("rt_strhash", 0, 0, 0), hashes[0], "NULL hashes as the empty string");
	(void)call("rt_strhash", 4, 0, 0);
	is_fault(DIF_FAULT_BADADDR, 4, "hash of a bad address");
	a = call("rt_byteshash", rt_fx_gvar(fx, 0), 100, 0);
	fx->gvars[99] ^= 1;
	ok(a != call("rt_byteshash", rt_fx_gvar(fx, 0), 100, 0), "the last byte counts");
	fx->gvars[99] ^= 1;
	fx->gvars[100] ^= 1;
	ok(a == call("rt_byteshash", rt_fx_gvar(fx, 0), 100, 0), "the next one does not");
	ok(call("rt_byteshash", rt_fx_gvar(fx, 0), 0, 0) != a, "no bytes");
	is_int(fx->mach->fault.kind, 0, "no bytes are no fault");
	(void)call("rt_byteshash", 8, 40, 0);
	is_fault(DIF_FAULT_BADADDR, 8, "bytes at a bad address");
}

static void test_addresses(void)
{
	uint64_t wrong = 0;
	uint8_t b[16] = {0};
	char want[16];

	for (uint32_t i = 0; i < 1024; i++) {
		b[12] = (uint8_t)i, b[13] = (uint8_t)(i / 4), b[14] = (uint8_t)(i * 7);
		b[15] = (uint8_t)(99 + (i & 1));
		memcpy(fx->gvars, b, sizeof(b));
		(void)snprintf(want, sizeof(want), "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
		wrong += strcmp(rt_fx_at(fx, call("rt_sub_inet_ntoa", rt_fx_gvar(fx, 12), 0, 0)),
				want) != 0;
		wrong += fx->mach->scratch_top != STRSIZE;
	}
	is_int(wrong, 0, "IPv4 addresses as text");
	memcpy(fx->gvars, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc8\x0a\0\x63", 16);
	is_text(call("rt_sub_inet_ntop", 10, rt_fx_gvar(fx, 0), 0), "::ffff:200.10.0.99",
		"an IPv4 address in an IPv6 address");
}

static void test_keystr(void)
{
	uint64_t h = 77;
	char value[sizeof(struct rt_keystr) + STRSIZE];
	struct rt_keystr *ks = (struct rt_keystr *)value;
	union bpf_attr attr = {.map_fd = (uint32_t)fx->maps->fd[MAP_STRINGS],
			       .key = (uint64_t)(uintptr_t)&h,
			       .value = (uint64_t)(uintptr_t)value};

	is_int(call("rt_keystr", text(0, "a key"), h, 0), 1, "keystr");
	is_int(sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)), 0, "is in the map");
	is_int(ks->len, 5, "its length");
	is_str(ks->data, "a key", "its text");
	is_int(call("rt_keystr", text(0, "another"), h, 0), 1, "again");
	(void)sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
	is_str(ks->data, "a key", "the first one stays");
	is_int(call("rt_keystr", 0, 78, 0), 1, "NULL");
	h = 78;
	(void)sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
	is_int(ks->len, 0, "is empty");
	(void)call("rt_keystr", text(0, "3"), 79, 0);
	(void)call("rt_keystr", text(0, "4"), 80, 0);
	/* the rest of the table, which has room for the names of frames, too */
	for (h = 1000; sys_bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) == 0;)
		h++;
	is_int(call("rt_keystr", text(0, "5"), 81, 0), 0, "no room");
	is_int(fx->mach->fault.kind, 0, "is no fault");
	is_int(call("rt_keystr", text(0, "5"), 80, 0), 1, "what is there is there");
}

/* ---- speculations ----------------------------------------------------------------------- */

static void test_speculation(void)
{
	uint64_t *words = fx->maps->spec, first;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = fx->maps->ring_fds[0];
	uint64_t *cons = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t *prod = mmap(NULL, page * 3, PROT_READ, MAP_SHARED, fd, (off_t)page);
	const struct rt_rec_commit *r;
	uint64_t pos;

	ok(cons != MAP_FAILED && prod != MAP_FAILED, "ring is mapped");
	pos = *cons = *prod; /* all is read */
	for (uint64_t id = 1; id <= 3; id++)
		is_int(call("rt_sub_speculation", 0, 0, 0), id, "a new id");
	is_int(call("rt_sub_speculation", 0, 0, 0), 0, "no more ids");
	is_int(fx->maps->control->cpu[0].spec_unavail, 1, "is counted");
	first = words[1];
	is_int(RT_SPEC_STATE(first), RT_SPEC_ACTIVE, "an id that was given out is active");
	is_int(call("rt_speculate", 2, 0, 0), first, "speculate says which speculation it is");
	is_int(call("rt_speculate", 0, 0, 0), 0, "id 0 is none");
	is_int(fx->mach->fault.kind, 0, "and no fault");
	(void)call("rt_speculate", 4, 0, 0);
	is_fault(DIF_FAULT_ILLOP, 0, "an id above nspec");
	(void)call("rt_discard", (uint64_t)-1, 0, 0);
	is_fault(DIF_FAULT_ILLOP, 0, "a negative id");
	(void)call("rt_discard", 2, 0, 0);
	is_int(RT_SPEC_STATE(words[1]), RT_SPEC_FREE, "discard makes it free");
	is_int(call("rt_speculate", 2, 0, 0), 0, "a free id is not recorded into");
	(void)call("rt_discard", 2, 0, 0);
	is_int(call("rt_sub_speculation", 0, 0, 0), 2, "the id is free at once");
	ok(words[1] != first && call("rt_speculate", 2, 0, 0) == words[1],
	   "and another speculation");
	first = words[1];
	fx->mach->timestamp = 99;
	fx->mach->probe = 7;
	(void)call("rt_commit", 2, 0, 0);
	is_int(RT_SPEC_STATE(words[1]), RT_SPEC_FREE, "commit makes it free");
	r = (const void *)((char *)prod + page + pos % page + BPF_RINGBUF_HDR_SZ);
	is_int(*prod - pos, BPF_RINGBUF_HDR_SZ + sizeof(*r), "one record is written");
	ok(r->rec.clause == RT_REC_COMMIT && r->rec.time == 99 && r->tag.word == first &&
		   r->tag.id == 2,
	   "it says which speculation");
	(void)call("rt_commit", 2, 0, 0);
	is_int(*prod - pos, BPF_RINGBUF_HDR_SZ + sizeof(*r), "commit of a free id does nothing");
	words[1] = first - RT_SPEC_ACTIVE + RT_SPEC_COMMITTING;
	is_int(call("rt_speculate", 2, 0, 0), 0, "nothing is recorded while it is being committed");
	is_int(call("rt_sub_speculation", 0, 0, 0), 0, "nor is it given out");
	is_int(fx->maps->control->cpu[0].spec_busy, 1, "that counts as busy");
	(void)munmap(cons, page);
	(void)munmap(prod, page * 3);
}

/* ---- stacks ----------------------------------------------------------------------------- */

static struct rt_stack *stack_at(uint32_t slot)
{
	return (struct rt_stack *)(fx->mach_value + fx->layout_mach.stack_off +
				   slot * fx->layout_mach.stack_stride);
}

/* n words from on, garbage behind them. */
static uint64_t stack_hash(uint32_t slot, uint32_t n, uint64_t from)
{
	struct rt_stack *st = stack_at(slot);

	memset(st, 0xa5, fx->layout_mach.stack_stride);
	st->len = 8 * n;
	st->frames = 10;
	for (uint32_t i = 0; i < n; i++)
		st->words[i] = from + i;
	return call("rt_stackhash", slot, 0, 0);
}

static void test_stack_hash(void)
{
	uint32_t most = RT_FX_FRAMES + RT_STACK_EXTRA;
	uint64_t hashes[RT_FX_FRAMES + RT_STACK_EXTRA + 1];
	unsigned int same = 0;

	for (uint32_t n = 0; n <= most; n++) {
		hashes[n] = stack_hash(0, n, 1);
		for (uint32_t k = 0; k < n; k++)
			same += hashes[n] == hashes[k];
		same += stack_hash(0, n, 2) == hashes[n] && n > 0;
		same += stack_hash(1, n, 1) != hashes[n];
	}
	is_int(same, 0, "stacks hash by length and content, in any slot");
	(void)stack_hash(0, 3, 1);
	stack_at(0)->frames = 11;
	ok(call("rt_stackhash", 0, 0, 0) != hashes[3], "and by what was asked for");
	is_int(call("rt_stackhash", 2, 0, 0), 0, "no such slot");
	stack_at(0)->len = 1u << 30;
	is_int(call("rt_stackhash", 0, 0, 0), 0, "a length that cannot be");
}

static void test_stack_keys(void)
{
	CLEANUP(free) struct rt_stack *st = xmalloc(fx->layout_mach.stack_size);
	uint64_t h = stack_hash(1, 3, 7);
	union bpf_attr attr = {.map_fd = (uint32_t)fx->maps->fd[MAP_STACKS],
			       .key = (uint64_t)(uintptr_t)&h,
			       .value = (uint64_t)(uintptr_t)st};

	is_int(call("rt_keystack", 1, h, 0), 1, "keystack");
	is_int(sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)), 0, "is in the map");
	is_int(st->len, 24, "its length");
	is_int(st->words[2], 9, "its last frame");
	(void)stack_hash(0, 1, 1);
	is_int(call("rt_keystack", 0, h, 0), 1, "again");
	(void)sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
	is_int(st->len, 24, "the first one stays");
	is_int(call("rt_keystack", 5, 1234, 0), 0, "no such slot");
}

static void caller_is(uint64_t want, uint64_t depth, uint32_t n, const uint64_t *words)
{
	uint32_t last = fx->layout_mach.stack_nslots - 1;

	memset(stack_at(last), 0xa5, fx->layout_mach.stack_stride);
	memcpy(stack_at(last)->words, words, n * sizeof(*words));
	is_int(call("rt_caller", 8 * n, 0, 0), want, "caller");
	is_int(call("rt_stackdepth", 8 * n, 0, 0), depth, "stackdepth");
}

/* Tracing code is [100, 200), [300, 301), [400, 500). */
static void test_stack_vars(void)
{
	caller_is(0, 0, 0, (const uint64_t[]){0});
	caller_is(0, 1, 1, (const uint64_t[]){1});
	caller_is(2, 2, 2, (const uint64_t[]){1, 2});
	caller_is(0, 0, 1, (const uint64_t[]){100});
	caller_is(0, 1, 2, (const uint64_t[]){199, 200});
	caller_is(3, 3, 5, (const uint64_t[]){400, 300, 301, 3, 100});
	caller_is(8, 4, 6, (const uint64_t[]){499, 150, 500, 8, 150, 1});
	caller_is(2, 2, 6, (const uint64_t[]){100, 101, 102, 103, 1, 2});
	/* no more than the kernel ever puts there */
	caller_is(1, 3, 7, (const uint64_t[]){100, 101, 102, 103, 104, 1, 2});
}

static void test_edges(void)
{
	uint64_t bad = 0xffff7fffdead0000ull;

	(void)call("rt_sub_strlen", 0, 0, 0);
	is_fault(DIF_FAULT_BADADDR, 0, "strlen of NULL");
	(void)call("rt_sub_strjoin", text(0, "a"), bad, 0);
	is_fault(DIF_FAULT_BADADDR, bad, "strjoin with a bad address");
	(void)call("rt_allocs", SCRATCH - 8, 0, 0);
	(void)again("rt_sub_strjoin", text(0, "a"), bad, 0);
	is_fault(DIF_FAULT_BADADDR, bad, "the address comes before the room");
	(void)call("rt_allocs", SCRATCH - 8, 0, 0);
	(void)again("rt_sub_strjoin", text(0, "a"), text(512, "b"), 0);
	is_fault(DIF_FAULT_NOSCRATCH, 0, "no room");
	(void)call("rt_sub_lltostr", 1, 1, 0);
	is_fault(DIF_FAULT_ILLOP, 0, "lltostr to base 1");
	(void)call("rt_sub_inet_ntop", 3, bad, 0);
	is_fault(DIF_FAULT_ILLOP, 0, "inet_ntop of an unknown family");
	(void)call("rt_sub_strtok", text(0, "a,b"), bad, 0);
	is_fault(DIF_FAULT_BADADDR, bad, "strtok with bad delimiters");
	is_int(fx->mach->tok_rest, RT_TOK_DONE, "forgets");
	is_int(again("rt_sub_strtok", 0, bad, 0), 0, "strtok when nothing is left");
	(void)call("rt_sub_strtok", 0, bad, 0);
	is_fault(DIF_FAULT_BADADDR, 0, "strtok without a text");
}

/* The text of strtok() is in scratch memory, which the next clause hands out again. */
static void test_tokens(void)
{
	uint64_t joined = call("rt_sub_strjoin", text(0, "a,b"), text(512, ",c,"), 0);
	uint64_t want_top;

	is_str(rt_fx_at(fx, again("rt_sub_strtok", joined, text(0, ","), 0)), "a",
	       "the first token");
	want_top = fx->mach->scratch_top;
	(void)again("rt_tok_keep", 0, 0, 0);
	is_int(fx->mach->scratch_top, want_top, "scratch memory is left alone");
	fx->mach->scratch_top = 0;
	(void)again("rt_sub_strjoin", text(0, "xxxxxxxx"), text(512, "xxxxxxxx"), 0);
	is_str(rt_fx_at(fx, again("rt_sub_strtok", 0, text(0, ","), 0)), "b",
	       "the second, in the next clause");
	(void)again("rt_tok_keep", 0, 0, 0);
	fx->mach->scratch_top = 0;
	(void)again("rt_sub_strjoin", text(0, "xxxxxxxx"), text(512, "xxxxxxxx"), 0);
	is_str(rt_fx_at(fx, again("rt_sub_strtok", 0, text(0, ","), 0)), "c",
	       "the third, in the one after");
	is_int(again("rt_sub_strtok", 0, text(0, ","), 0), 0, "no more");
	is_int(again("rt_tok_keep", 0, 0, 0), 0, "nothing to keep");
	is_int(fx->mach->tok_rest, RT_TOK_DONE, "nothing kept");
}

/* ---- numbers ---------------------------------------------------------------------------- */

static const int64_t values[] = {
	0,
	1,
	-1,
	2,
	-2,
	3,
	7,
	10,
	-10,
	99,
	100,
	101,
	1000,
	-1000,
	4095,
	4096,
	4097,
	65535,
	1 << 30,
	INT32_MAX,
	INT32_MIN,
	1ll << 40,
	-(1ll << 40),
	(1ll << 62) - 1,
	1ll << 62,
	-(1ll << 62),
	INT64_MAX,
	INT64_MIN,
	INT64_MIN + 1,
};

static uint64_t quantize_bucket(int64_t v)
{
	for (int k = 62; k >= 0; k--) {
		if (v >= 1ll << k)
			return 64 + (uint64_t)k;
		if (v <= -(1ll << k))
			return 62 - (uint64_t)k;
	}
	return 63;
}

static void test_numbers(void)
{
	static const int64_t params[][4] = {{10, 0, 3, 10}, {2, 0, 61, 2},  {10, 2, 6, 100},
					    {3, 1, 4, 27},  {12, 2, 4, 96}, {10, 0, 17, 20},
					    {10, 0, 5, 5},  {10, 2, 6, 2},  {12, 1, 3, 1}};
	uint32_t nbad = 0;

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		for (size_t j = 0; j < ARRAY_LEN(values); j++) {
			int64_t a = values[i], b = values[j];
			bool overflows = a == INT64_MIN && b == -1;

			if (b == 0)
				continue;
			nbad += (int64_t)call("rt_sdiv", (uint64_t)a, (uint64_t)b, 0) !=
				(overflows ? INT64_MIN : a / b);
			nbad += (int64_t)call("rt_srem", (uint64_t)a, (uint64_t)b, 0) !=
				(overflows ? 0 : a % b);
		}
	is_int(nbad, 0, "signed division and remainder");
	nbad = 0;
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		nbad += call("rt_quantize", (uint64_t)values[i], 0, 0) !=
			quantize_bucket(values[i]);
	is_int(nbad, 0, "quantize");
	nbad = 0;
	for (size_t p = 0; p < ARRAY_LEN(params); p++) {
		memcpy(fx->mach->tmp, params[p], sizeof(params[p]));
		for (size_t i = 0; i < ARRAY_LEN(values); i++)
			nbad += call("rt_llquantize", (uint64_t)values[i], 0, 0) !=
				llquantize_bucket(params[p], values[i]);
		for (int64_t v = -1100; v <= 1100; v += 13)
			nbad += call("rt_llquantize", (uint64_t)v, 0, 0) !=
				llquantize_bucket(params[p], v);
	}
	is_int(nbad, 0, "llquantize");
}

/* ---- fault records ---------------------------------------------------------------------- */

static void test_fault_record(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = fx->maps->ring_fds[0];
	uint64_t *prod = mmap(NULL, page * 2, PROT_READ, MAP_SHARED, fd, (off_t)page);
	const struct rt_rec_fault *r = (const void *)((char *)prod + page + 8);
	uint32_t ndrops = 0;

	fx->mach->cpu = 0;
	fx->mach->probe = 5;
	fx->mach->epid = 6;
	fx->mach->timestamp = 0;
	fx->mach->fault = (struct rt_fault){DIF_FAULT_DIVZERO, 2, 3, 12, 99};
	(void)again("rt_fault_record", 0, 0, 0);
	ok(prod != MAP_FAILED && *prod == 8 + sizeof(*r), "a record is in the ring");
	is_int(r->rec.clause, RT_REC_FAULT, "it is a fault");
	is_int(r->rec.probe, 5, "its probe");
	is_int(r->epid, 6, "its epid");
	ok(r->rec.time > 0 && r->rec.time == fx->mach->timestamp, "its time");
	is_int(memcmp(&r->fault, &fx->mach->fault, sizeof(r->fault)), 0, "the fault");
	while (fx->maps->control->cpu[0].drops == 0 && ndrops++ < 1000)
		(void)again("rt_fault_record", 0, 0, 0);
	is_int(fx->maps->control->cpu[0].drops, 1, "a full ring is a drop");
	fx->mach->cpu = 1000;
	(void)again("rt_fault_record", 0, 0, 0);
	is_int(fx->maps->control->cpu[0].drops, 1, "an unknown CPU is nobody's");
	fx->mach->cpu = 0;
	(void)munmap(prod, page * 2);
}

/* ---- verification ----------------------------------------------------------------------- */

static const char *const functions[] = {
#define RT_FUNC(name, nargs, faults) #name,
#include "rt/funcs.h"
#undef RT_FUNC
};

/* Cheap to verify, whatever strsize is: loops are callbacks. */
static void test_verification(uint32_t strsize)
{
	struct rt_fx_opts opts = {strsize, 16 * strsize, 4 * strsize, THIS};
	struct rt_fx *big = rt_fx_create(&opts);

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		/*
		 * A walk searches trees, node by node, and what is remembered of one is added to
		 * another; a text of a frame is taken apart by several forms; faults of helpers
		 * search the tree of mappings; the helper machine has all instructions of DIF, and
		 * these faults; whether a process's files are known is searched for in all that it
		 * maps. rt_walk_begin() has a whole walk, the search for what a process
		 * maps, that for the files of a stack, and that for return addresses which the
		 * kernel has replaced.
		 */
		bool walks = strstr(functions[i], "unwind") || strstr(functions[i], "ustack") ||
			     strstr(functions[i], "walk") || strstr(functions[i], "memo") ||
			     strstr(functions[i], "rt_fault") || strstr(functions[i], "rt_known") ||
			     strcmp(functions[i], "rt_helper_fault") == 0 ||
			     strcmp(functions[i], "rt_lang") == 0;
		bool helps = strcmp(functions[i], "rt_helper_run") == 0;
		bool begins = strcmp(functions[i], "rt_walk_begin") == 0;

		/* of what this kernel refuses nothing can be said */
		if (strstr(functions[i], "copyout") && !feat_has(FEAT_WRITE_USER))
			continue;
		(void)rt_fx_prog(big, functions[i]);
		for (uint32_t j = 0; j < big->nprogs; j++)
			if (strcmp(big->progs[j].name, functions[i]) == 0)
				ok(big->progs[j].nverified < (helps    ? 72000
							      : begins ? 50000
							      : walks  ? 36000
								       : 3000),
				   "%s: %u instructions verified", functions[i],
				   big->progs[j].nverified);
	}
	rt_fx_destroy(big);
}

int main(void)
{
	struct rt_fx_opts opts = {STRSIZE, SCRATCH, GVARS, THIS};

	fx = rt_fx_create(&opts);
	test_alloca();
	test_blocks();
	test_copyin();
	test_copyinstr();
	test_bcopy();
	test_store();
	test_copys();
	test_strcmp();
	test_hash();
	test_addresses();
	test_keystr();
	test_stack_hash();
	test_stack_keys();
	test_stack_vars();
	test_edges();
	test_tokens();
	test_numbers();
	test_fault_record();
	test_speculation();
	rt_fx_destroy(fx);
	test_verification(2);
	test_verification(65536);
	return tap_done();
}
