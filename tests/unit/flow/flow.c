/* SPDX-License-Identifier: MIT */
/* Windows in small functions: a function, or a pair of them, for each rule. */
#include "flow/flow.h"

#include <sys/mman.h>

#include "files/gate.h"
#include "flow/impl.h"
#include "made.h"
#include "tap.h"

#define ADD(m, bytes) made_code(m, bytes, sizeof(bytes) - 1)
#define FUNC(m, name, bytes)                                                                       \
	do {                                                                                       \
		uint64_t at_ = ADD(m, bytes);                                                      \
		made_symbol(m, name, at_, sizeof(bytes) - 1);                                      \
		made_pad(m, 32);                                                                   \
	} while (0)

static void must_read(struct made *m)
{
	struct err *e = made_read(m);

	if (e) {
		printf("Bail out! %s\n", err_text(e));
		exit(1);
	}
}

/* What one site alone lacks; its window where it fits. */
static enum flow_lack site_lack(const struct made *m, uint64_t addr, enum flow_kind kind,
				bool at_entry, struct flow_window *ret)
{
	struct flow_opts opts = {.at_entry = at_entry};
	struct flow_site site = {addr, kind};
	struct flow_plan p;
	enum flow_lack lack;

	if (flow_plan(m->flow, &site, 1, &opts, &p))
		exit(1);
	lack = p.lacks[0];
	if (lack == FLOW_FITS && ret)
		*ret = p.windows.data[0];
	flow_plan_deinit(&p);
	return lack;
}

/* What a jump of 5 bytes lacks that is to be written at the very place of a site. */
static enum flow_lack jump_lack(const struct made *m, uint64_t addr, enum flow_kind kind)
{
	const struct flow_area *a = area_at(m->flow, addr);
	struct flow_prologue p = {.behind = addr};
	enum flow_lack lack = FLOW_FITS;
	struct flow_range bounds;
	struct flow_window w;

	if (!a)
		return site_lack(m, addr, kind, false, NULL);
	bounds = flow_around(m->flow, a, addr);
	if (kind == FLOW_ENTRY)
		lack = prologue_read(m->flow, &bounds, addr, &p);
	if (lack == FLOW_FITS)
		lack = window_try(m->flow, &bounds, p.behind, FLOW_JUMP, p.behind, &w);
	return lack;
}

#define lack_is(m, addr, kind, want, name)                                                         \
	is_str(flow_lack_text(jump_lack(m, addr, kind)), flow_lack_text(want), name)

/* push; mov; sub; xor; leave; ret */
#define PLAIN "\x55\x48\x89\xe5\x48\x83\xec\x10\x31\xc0\xc9\xc3"

static void test_plain(void)
{
	struct made m = {0};
	struct flow_window w = {0};
	flow_sites exits = {0};

	(void)ADD(&m, PLAIN "\xcc\xcc\xcc\xcc");
	made_symbol(&m, "plain", CODE, sizeof(PLAIN) - 1);
	must_read(&m);
	ok(site_lack(&m, CODE, FLOW_ENTRY, false, &w) == FLOW_FITS, "an entry");
	ok(w.addr == CODE + 1 && w.jump == 5 && w.len == 7 && w.nins == 2 && w.ins[1] == 3,
	   "lies behind the first instruction");
	ok(w.pushed == 8 && w.changed_args == 0 && !w.has_red_zone, "which has pushed 8 bytes");
	ok(memcmp(w.old, &PLAIN[1], 7) == 0, "the bytes of the file");
	ok(w.nbodies == 1 && w.bodies[0].off == 0 && !w.ends, "its body is first");
	flow_exits(m.flow, CODE, &exits);
	ok(exits.len == 1 && exits.data[0].addr == CODE + 11, "an exit");
	ok(site_lack(&m, CODE + 11, FLOW_EXIT, false, &w) == FLOW_FITS, "fits");
	ok(w.addr == CODE + 11 && w.len == 1 && w.jump == 5 && w.ends && !w.has_red_zone,
	   "into the padding behind it");
	ok(w.old[0] == 0xc3 && w.old[4] == 0xcc, "with the bytes of the padding");
	ok(site_lack(&m, CODE, FLOW_ENTRY, true, &w) == FLOW_FITS && w.addr == CODE + 1,
	   "the first instruction is left alone where it can be");
	lack_is(&m, CODE + 2, FLOW_OFFSET, FLOW_NO_CODE, "the middle of an instruction");
	lack_is(&m, DATA, FLOW_OFFSET, FLOW_NO_CODE, "data");
	vec_deinit(&exits);
	made_end(&m);
}

/* push; mov; 3: dec; jne 3; pop; ret: control comes back into the second instruction. */
#define BACK "\x53\x89\xf8\xff\xc8\x75\xfc\x5b\xc3"

static void test_back(void)
{
	struct made m = {0};
	struct flow_window w = {0};
	struct flow_site sites[] = {{CODE, FLOW_ENTRY}, {CODE + 8, FLOW_EXIT}};
	struct flow_plan p;

	(void)ADD(&m, BACK "\xcc\xcc\xcc\xcc\xcc\xcc\xcc");
	made_symbol(&m, "back", CODE, sizeof(BACK) - 1);
	FUNC(&m, "next", PLAIN);
	must_read(&m);
	ok(site_lack(&m, CODE, FLOW_ENTRY, false, &w) == FLOW_FITS, "an entry before a loop");
	ok(w.jump == 2 && w.len == 2 && w.pad == CODE + 9, "has a short jump to padding");
	ok(memcmp(w.old_pad, "\xcc\xcc\xcc\xcc\xcc", 5) == 0, "whose bytes are known");
	if (flow_plan(m.flow, sites, 2, NULL, &p))
		exit(1);
	ok(p.lacks[0] == FLOW_NO_PAD && p.lacks[1] == FLOW_FITS, "padding is used once");
	flow_plan_deinit(&p);
	made_end(&m);
}

static void test_first(void)
{
	struct made m = {0};
	struct flow_window w = {0};
	uint64_t at, pops, pops_sp;

	/* xor; 2: inc; cmp; jne 2; ret */
	FUNC(&m, "loop", "\x31\xc0\xff\xc0\x39\xf8\x75\xfa\xc3");
	at = ADD(&m, "\xf3\x0f\x1e\xfa\x31\xff\x48\x83\xc6\x08\xb8\x01\x00\x00\x00\xc3");
	made_symbol(&m, "endbr", at, 16);
	FUNC(&m, "align", "\x48\x83\xe4\xf0\x48\x83\xec\x20\x31\xc0\xc9\xc3");
	FUNC(&m, "jumps", "\x74\x05\xb8\x01\x00\x00\x00\xc3");
	FUNC(&m, "red", "\x48\x89\x7c\x24\xf8\x31\xc0\x48\x03\x44\x24\xf8\xc3");
	(void)ADD(&m, "\xb8\x01\x00\x00\x00\xc3");
	made_symbol(&m, "small", CODE + 144, 6);
	FUNC(&m, "behind", PLAIN);
	pops = ADD(&m, "\x58\x48\x8d\x4f\x64\x50\x48\x89\xc8\xc3"); /* pop; lea; push; mov; ret */
	made_symbol(&m, "pops", pops, 10);
	made_pad(&m, 32);
	pops_sp = ADD(&m, "\x5c\x48\x8d\x4f\x64\x48\x89\xc8\xc3");
	made_symbol(&m, "pops_sp", pops_sp, 9);
	made_pad(&m, 32);
	must_read(&m);
	lack_is(&m, CODE, FLOW_ENTRY, FLOW_LOOP, "a loop that begins behind the first instruction");
	ok(site_lack(&m, at, FLOW_ENTRY, false, &w) == FLOW_FITS && w.addr == at + 6,
	   "endbr64 and the first instruction");
	is_int(w.changed_args, 1, "which writes the first argument");
	ok(!w.has_flags, "flags are written before they are read");
	ok(site_lack(&m, at, FLOW_ENTRY, true, &w) == FLOW_FITS && w.addr == at + 6,
	   "the same if the first may be used");
	lack_is(&m, CODE + 48, FLOW_ENTRY, FLOW_STACK, "and of the stack pointer");
	ok(site_lack(&m, CODE + 48, FLOW_ENTRY, true, &w) == FLOW_FITS && w.addr == CODE + 48 &&
		   w.pushed == 0,
	   "fits at the first instruction");
	lack_is(&m, CODE + 64, FLOW_ENTRY, FLOW_JUMPS, "a jump as the first instruction");
	ok(site_lack(&m, CODE + 96, FLOW_ENTRY, false, &w) == FLOW_FITS && w.has_red_zone,
	   "the first instruction writes below the stack pointer");
	ok(site_lack(&m, pops, FLOW_ENTRY, false, &w) == FLOW_FITS && w.addr == pops + 1 &&
		   w.pushed == -8 && w.has_red_zone,
	   "one that pops, which leaves the word below it");
	lack_is(&m, pops_sp, FLOW_ENTRY, FLOW_STACK, "but not into the stack pointer");
	made_end(&m);
}

/* A function that is nothing but a jump to another one: entry and exit are one instruction. */
static void test_empty(void)
{
	struct made m = {0};
	/* a clause about the return may come first in a script */
	struct flow_site sites[] = {{CODE + 32, FLOW_EXIT}, {CODE + 32, FLOW_ENTRY}};
	struct flow_window w = {0};
	struct flow_plan p;

	FUNC(&m, "work", PLAIN);
	made_pad(&m, 32);
	made_symbol(&m, "empty", ADD(&m, "\xc3\xcc\xcc\xcc\xcc"), 1);
	made_pad(&m, 32);
	made_symbol(&m, "rep", ADD(&m, "\xf3\xc3\xcc\xcc\xcc"), 2);
	made_pad(&m, 32);
	must_read(&m);
	if (flow_plan(m.flow, sites, 2, NULL, &p))
		exit(1);
	ok(p.windows.len == 1 && p.lacks[0] == FLOW_FITS && p.lacks[1] == FLOW_FITS,
	   "entry and exit of an empty function have one window");
	if (p.windows.len == 1) {
		w = p.windows.data[0];
		ok(w.addr == CODE + 32 && w.len == 1 && w.is_first_return && !w.is_first_jump,
		   "at its return, which is known as that");
		ok(w.nbodies == 2 && w.bodies[0].site == 1 && w.bodies[1].site == 0,
		   "and the body of the entry runs first");
	}
	flow_plan_deinit(&p);
	ok(site_lack(&m, CODE + 64, FLOW_ENTRY, false, NULL) == FLOW_JUMPS,
	   "a return of two bytes would be cut by a breakpoint that goes");
	ok(site_lack(&m, CODE + 11, FLOW_EXIT, false, &w) == FLOW_FITS && !w.is_first_return,
	   "other returns are not first ones");
	made_end(&m);
}

static void test_thunk(void)
{
	struct made m = {0};
	struct flow_site sites[] = {{CODE + 32, FLOW_ENTRY}, {CODE + 32, FLOW_EXIT}};
	struct flow_window w = {0};
	struct flow_plan p;

	FUNC(&m, "work", PLAIN);
	made_pad(&m, 32);
	made_symbol(&m, "thunk", ADD(&m, "\xe9\xdb\xff\xff\xff"), 5);
	made_pad(&m, 32);
	/* the same with a jump of two bytes, whose first one is another */
	made_symbol(&m, "near", ADD(&m, "\xeb\xbe"), 2);
	made_pad(&m, 32);
	must_read(&m);
	if (flow_plan(m.flow, sites, 2, NULL, &p))
		exit(1);
	ok(p.windows.len == 1 && p.lacks[0] == FLOW_FITS && p.lacks[1] == FLOW_FITS,
	   "entry and exit of a function that is a jump have one window");
	ok(p.windows.data[0].addr == CODE + 32 && p.windows.data[0].nbodies == 2 &&
		   p.windows.data[0].is_first_jump,
	   "at its only instruction, which is known as that");
	flow_plan_deinit(&p);
	lack_is(&m, CODE + 64, FLOW_ENTRY, FLOW_JUMPS, "a jump of another form");
	ok(site_lack(&m, CODE, FLOW_ENTRY, false, &w) == FLOW_FITS && !w.is_first_jump,
	   "other windows are no such jumps");
	made_end(&m);

	m = (struct made){0};
	FUNC(&m, "work", PLAIN);
	while (m.code.len < FLOW_PAGE - 3)
		(void)ADD(&m, "\xcc");
	made_symbol(&m, "thunk", ADD(&m, "\xe9\x00\xf0\xff\xff"), 5);
	made_pad(&m, 64);
	must_read(&m);
	ok(site_lack(&m, CODE + FLOW_PAGE - 3, FLOW_ENTRY, false, NULL) == FLOW_PAGES,
	   "a short jump there would have another first byte");
	made_end(&m);
}

/* Only the first instruction of a function has room for its exit. */
static void test_exit_at_first(void)
{
	struct made m = {0};
	struct flow_window w = {0};

	(void)ADD(&m, "\xb8\x01\x00\x00\x00\xc3"); /* mov; ret, and the next function behind it */
	made_symbol(&m, "small", CODE, 6);
	FUNC(&m, "next", PLAIN);
	must_read(&m);
	ok(site_lack(&m, CODE + 5, FLOW_EXIT, false, NULL) == FLOW_FIRST,
	   "other tools probe the first instruction");
	ok(site_lack(&m, CODE + 5, FLOW_EXIT, true, &w) == FLOW_FITS && w.addr == CODE &&
		   w.len == 6 && w.bodies[0].off == 5,
	   "unless that does not matter");
	made_end(&m);
}

static uint32_t plan_one(const struct made *m, uint64_t addr, enum flow_lack *ret_lack,
			 struct flow_window *ret, uint32_t max)
{
	struct flow_site site = {addr, FLOW_EXIT};
	struct flow_plan p;
	uint32_t n;

	if (flow_plan(m->flow, &site, 1, NULL, &p))
		exit(1);
	n = p.windows.len;
	*ret_lack = p.lacks[0];
	for (uint32_t i = 0; i < MIN(n, max); i++)
		ret[i] = p.windows.data[i];
	flow_plan_deinit(&p);
	return n;
}

/*
 * cmpq; 8: mov; je 16; 15: ret; 16: movzbl; test; 25: jne 15; cmpq; setne; ret. Control comes to
 * the return at 15 from the je before it, and from the jne.
 */
#define TWO_WAYS                                                                                   \
	"\x48\x83\xbe\x38\x01\x00\x00\x00\xb8\x01\x00\x00\x00\x74\x01\xc3"                         \
	"\x0f\xb6\x86\x40\x01\x00\x00\x84\xc0\x75\xf4\x48\x83\xbf\x10\x01\x00\x00\x00\x0f\x95\xc0" \
	"\xc3"

static void test_ways(void)
{
	struct flow_site sites[] = {{CODE, FLOW_ENTRY},
				    {CODE + 15, FLOW_EXIT},
				    {CODE + 15, FLOW_EXIT}};
	struct flow_window w[3] = {0};
	struct made m = {0};
	enum flow_lack lack;
	struct flow_plan p;

	FUNC(&m, "useful", TWO_WAYS);
	FUNC(&m, "next", PLAIN);
	must_read(&m);
	ok(plan_one(&m, CODE + 15, &lack, w, 3) == 2 && lack == FLOW_FITS,
	   "a return that jumps lead to has a window at each way to it");
	ok(w[0].addr == CODE + 8 && w[0].jump == 5 && w[0].len == 8 && w[0].ends &&
		   w[0].nbodies == 1 && w[0].bodies[0].off == 7,
	   "before it, with a copy of it");
	ok(w[1].addr == CODE + 25 && w[1].nbodies == 1 && w[1].bodies[0].off == 0,
	   "and at the jump");
	if (flow_plan(m.flow, sites, 3, NULL, &p))
		exit(1);
	ok(p.windows.len == 2 && p.lacks[1] == FLOW_FITS && p.lacks[2] == FLOW_FITS &&
		   p.windows.data[0].nbodies == 3 && p.windows.data[1].nbodies == 2,
	   "they join the entry's window, and each other's");
	flow_plan_deinit(&p);
	made_end(&m);

	m = (struct made){0};
	FUNC(&m, "useful", TWO_WAYS);
	FUNC(&m, "next", PLAIN);
	made_rela(&m, DATA, CODE + 15);
	(void)made_data(&m, "\0\0\0\0\0\0\0\0", 8);
	must_read(&m);
	ok(plan_one(&m, CODE + 15, &lack, w, 3) == 0 && lack != FLOW_FITS,
	   "none where a pointer leads to it, too");
	made_end(&m);

	/* test; 2: je 14; jmp; nop; 14: ret; xor; 17: jmp 14 */
	m = (struct made){0};
	FUNC(&m, "far",
	     "\x85\xff\x0f\x84\x06\x00\x00\x00\xe9\x13\x00\x00\x00\x90\xc3\x31\xc0\xeb\xfb\xcc\xcc\xcc");
	FUNC(&m, "next", PLAIN);
	must_read(&m);
	ok(plan_one(&m, CODE + 14, &lack, w, 3) == 2 && lack == FLOW_FITS, "another one");
	ok(w[0].addr == CODE + 2 && w[0].target == FLOW_TARGET_CODE && w[0].len == 6 &&
		   w[0].bodies[0].off == 0,
	   "a jump with a distance of 4 bytes gets another one");
	ok(w[1].addr == CODE + 17 && !w[1].target && w[1].len == 2 && w[1].jump == 5,
	   "a short one a window");
	made_end(&m);

	/* test; 2: je 25; call; 13: jne 25; 15: inc; jne 15; jmp; 25: ret */
	m = (struct made){0};
	FUNC(&m, "half",
	     "\x85\xff\x0f\x84\x11\x00\x00\x00\xe8\x13\x00\x00\x00\x75\x0a\x48\xff\xc7\x75\xfb\xe9\x07\x00\x00\x00\xc3");
	FUNC(&m, "next", PLAIN);
	must_read(&m);
	ok(plan_one(&m, CODE + 25, &lack, w, 3) == 0 && lack != FLOW_FITS,
	   "a way without room leaves none to the others");
	made_end(&m);
}

/*
 * lea; test; 6: js 24; 8: cmp; 12: je 20; 14: mov; 19: ret; 20: mov %rcx, %rax; ret; 24: add; 28:
 * jne 34; 30: mov; 34: mov %rdx, %rax; ret. There is no padding within reach.
 */
#define TAILS                                                                                      \
	"\x48\x8d\x4f\x01\x85\xf6\x78\x10\x40\x80\xfe\x05\x74\x06\xb8\x01\x00\x00\x00\xc3"         \
	"\x48\x89\xc8\xc3\x48\x83\xc2\x01\x75\x04\x48\x8d\x14\x77\x48\x89\xd0\xc3"
#define TAILS_SIZE 38

static void tails_make(struct made *m)
{
	*m = (struct made){0};
	(void)ADD(m, TAILS);
	made_symbol(m, "tails", CODE, TAILS_SIZE);
	made_symbol(m, "next", ADD(m, PLAIN), sizeof(PLAIN) - 1);
}

/* Jumps lead to a few instructions before a return, and there is no room for a jump either. */
static void test_tails(void)
{
	static const uint64_t nops[] = {CODE + 20};
	struct flow_site both[] = {{CODE + 23, FLOW_EXIT}, {CODE + 23, FLOW_EXIT}};
	struct flow_opts opts = {.nops = nops, .nnops = 1};
	struct flow_window w[3] = {0};
	enum flow_lack lack;
	struct flow_plan p;
	struct made m;

	tails_make(&m);
	must_read(&m);
	ok(plan_one(&m, CODE + 23, &lack, w, 3) == 1 && lack == FLOW_FITS,
	   "a return behind an instruction to which a jump leads has a window");
	ok(w[0].addr == CODE + 12 && w[0].len == 7 && w[0].nbodies == 1 && w[0].bodies[0].off == 0,
	   "at that jump");
	ok(w[0].bodies[0].has_tail && w[0].tail.addr == CODE + 20 && w[0].tail.len == 4 &&
		   w[0].tail.nins == 2 && w[0].tail.ins[1] == 3 &&
		   memcmp(w[0].tail.old, "\x48\x89\xc8\xc3", 4) == 0,
	   "with both instructions as its tail");
	ok(plan_one(&m, CODE + 37, &lack, w, 3) == 1 && lack == FLOW_FITS && w[0].nbodies == 2 &&
		   w[0].addr == CODE + 28 && w[0].bodies[0].has_tail && w[0].bodies[0].off == 0 &&
		   w[0].tail.addr == CODE + 34,
	   "another one has two ways");
	ok(w[0].len == 10 && w[0].jump == 5 && w[0].ends && w[0].bodies[1].off == 9 &&
		   !w[0].bodies[1].has_tail,
	   "what goes on to it has a copy of both instructions, too");
	if (flow_plan(m.flow, both, 2, NULL, &p))
		exit(1);
	ok(p.windows.len == 1 && p.windows.data[0].nbodies == 2 &&
		   p.windows.data[0].bodies[1].has_tail,
	   "two probes of one return have one window");
	flow_plan_deinit(&p);
	both[1] = (struct flow_site){CODE + 20, FLOW_OFFSET};
	if (flow_plan(m.flow, both, 2, &opts, &p))
		exit(1);
	ok(p.lacks[0] != FLOW_FITS && !p.windows.len,
	   "no tail has the nop of a program's own probe");
	flow_plan_deinit(&p);
	made_end(&m);

	tails_make(&m);
	made_rela(&m, DATA, CODE + 20);
	(void)made_data(&m, "\0\0\0\0\0\0\0\0", 8);
	must_read(&m);
	ok(plan_one(&m, CODE + 23, &lack, w, 3) == 0 && lack != FLOW_FITS,
	   "none where a pointer leads to the tail, too");
	made_end(&m);
}

/*
 * test; 2: js 15; 4: je 11; 6: mov; 11: a return with 14 prefixes, the longest instruction there
 * is. The first jump leads into it, so that it has no window of its own.
 */
#define LONG_RETURN                                                                                \
	"\x85\xff\x78\x0b\x74\x05\xb8\x01\x00\x00\x00"                                             \
	"\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xf3\xc3"

static void test_long_return(void)
{
	struct flow_window w[3] = {0};
	enum flow_lack lack = FLOW_FITS;
	struct made m = {0};

	(void)ADD(&m, LONG_RETURN);
	made_symbol(&m, "long", CODE, sizeof(LONG_RETURN) - 1);
	made_symbol(&m, "next", ADD(&m, PLAIN), sizeof(PLAIN) - 1);
	must_read(&m);
	ok(plan_one(&m, CODE + 11, &lack, w, 3) == 0 && lack != FLOW_FITS,
	   "a return that is longer than a tail is in none");
	made_end(&m);
}

/* A jump is not written on two pages. */
static void test_pages(void)
{
	static const uint32_t before[] = {6, 3}; /* bytes of the function on the first page */
	struct flow_window w = {0};

	for (uint32_t i = 0; i < ARRAY_LEN(before); i++) {
		struct made m = {0};
		uint64_t at = CODE + FLOW_PAGE - before[i];

		while (m.code.len < FLOW_PAGE - before[i])
			(void)ADD(&m, "\x98"); /* cwde */
		(void)ADD(&m, PLAIN);
		made_symbol(&m, "plain", at, sizeof(PLAIN) - 1);
		FUNC(&m, "next", PLAIN);
		must_read(&m);
		if (i)
			is_str(flow_lack_text(site_lack(&m, at, FLOW_ENTRY, false, NULL)),
			       flow_lack_text(FLOW_PAGES), "an entry on two pages");
		else
			ok(site_lack(&m, at + 11, FLOW_EXIT, false, &w) == FLOW_FITS &&
				   w.addr == at + 1,
			   "an exit gets an earlier start, on one page");
		made_end(&m);
	}
}

/* xor; lea TABLE(%rip),%rdx; movslq (%rdx,%rdi,4),%rax; add %rdx,%rax; jmp *%rax, then cases */
#define SWITCH "\x31\xc0\x48\x8d\x15\xf7\x0f\x00\x00\x48\x63\x04\xba\x48\x01\xd0\xff\xe0"
#define CASES  "\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xc3"

static void test_table(void)
{
	/* two entries lead to the third and fourth instruction of the cases; then there is text */
	int32_t table[3] = {(int32_t)(CODE + 22 - DATA), (int32_t)(CODE + 24 - DATA), 0x20202020};
	struct made m = {0};
	struct flow_census n;

	FUNC(&m, "choose", SWITCH CASES);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 18, FLOW_OFFSET, FLOW_ENTERED, "an entry of a jump table");
	ok(site_lack(&m, CODE + 24, FLOW_OFFSET, false, NULL) == FLOW_FITS, "behind the last one");
	if (flow_census(m.flow, &n))
		exit(1);
	ok(n.ntables == 1 && n.nunknown == 0, "the table was found");
	made_end(&m);

	m = (struct made){0};
	table[0] = 0x20202020;
	FUNC(&m, "choose", SWITCH CASES);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 18, FLOW_OFFSET, FLOW_UNKNOWN_JUMP, "a table that was not found");
	made_end(&m);
}

/* A second table begins where the first one ends: its entries are not the first one's. */
static void test_tables(void)
{
	struct made m = {0};
	int32_t table[4] = {(int32_t)(CODE + 22 - DATA), (int32_t)(CODE + 22 - DATA),
			    (int32_t)(CODE + 64 + 20 - DATA - 8),
			    (int32_t)(CODE + 64 + 20 - DATA - 8)};
	char second[] = SWITCH CASES;
	int32_t distance = (int32_t)(DATA + 8 - (CODE + 64 + 9));

	memcpy(second + 5, &distance, 4);
	FUNC(&m, "one", SWITCH CASES);
	made_pad(&m, 64);
	made_symbol(&m, "two", made_code(&m, second, sizeof(second) - 1), sizeof(second) - 1);
	made_pad(&m, 64);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	/* read as entries of the first table they would lead into its code's neighbourhood */
	ok(site_lack(&m, CODE + 64 + 20, FLOW_OFFSET, false, NULL) == FLOW_FITS,
	   "where the second table leads a window can begin");
	lack_is(&m, CODE + 64 + 18, FLOW_OFFSET, FLOW_ENTERED, "but not go over it");
	ok(site_lack(&m, CODE + 64 + 20, FLOW_OFFSET, false, NULL) == FLOW_FITS &&
		   site_lack(&m, CODE + 22, FLOW_OFFSET, false, NULL) == FLOW_FITS,
	   "and the entries are no others");
	made_end(&m);
}

/* lea LABEL(%rip),%rcx: distances that count from a label of the code itself */
static void test_labels(void)
{
	struct made m = {0};
	int32_t table[2] = {2, 4};

	/* lea TABLE,%rdx; lea 19(self),%rcx; movslq (%rdx,%rdi,4),%rax; add %rcx,%rax; jmp */
	FUNC(&m, "labels",
	     "\x48\x8d\x15\xf9\x0f\x00\x00\x48\x8d\x0d\x09\x00\x00\x00\x48\x63\x04\xba\x48\x01\xc8"
	     "\xff\xe0" CASES);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 25, FLOW_OFFSET, FLOW_UNKNOWN_JUMP, "distances from a label");
	made_end(&m);
}

static void test_landing(void)
{
	/* no base, no types; uleb128; a group of 5 bytes at 3, landing pad at 15, no action */
	static const char lsda[] = "\xff\xff\x01\x04\x03\x05\x0f\x00";
	/* push; mov; call; pop; ret; 10: mov; 13: inc; 15: inc; 17: inc; ret */
#define THROWS                                                                                     \
	"\x53\x89\xfb\xe8\x00\x00\x00\x00\x5b\xc3\x48\x89\xc7\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xc3"
	struct made m = {0};

	FUNC(&m, "throws", THROWS);
	made_frame(&m, "zL", CODE, sizeof(THROWS) - 1, made_data(&m, lsda, sizeof(lsda) - 1));
	must_read(&m);
	lack_is(&m, CODE + 13, FLOW_OFFSET, FLOW_ENTERED, "a landing pad");
	ok(site_lack(&m, CODE + 15, FLOW_OFFSET, false, NULL) == FLOW_FITS, "begins a window");
	lack_is(&m, CODE + 9, FLOW_EXIT, FLOW_SHORT, "a return with code behind it");
	made_end(&m);

	m = (struct made){0};
	FUNC(&m, "throws", THROWS);
	made_frame(&m, "zL", CODE, sizeof(THROWS) - 1, made_data(&m, "\xff\xff\x01\xff\x7f", 5));
	must_read(&m);
	lack_is(&m, CODE + 15, FLOW_OFFSET, FLOW_UNKNOWN_JUMP, "a damaged list of landing pads");
	made_end(&m);
}

static void test_call(void)
{
	struct made m = {0};
	struct flow_window w = {0};

	/* push; mov; call; pop; ret */
	FUNC(&m, "last", "\x53\x48\x89\xfb\xe8\x00\x00\x00\x00\x5b\xc3");
	FUNC(&m, "middle",
	     "\x53\xff\xd0\x48\x89\xc3\x5b\xc3"); /* push; call *%rax; mov; pop; ret */
	/* mov; syscall; cmp; ret */
	FUNC(&m, "calls", "\xb8\x27\x00\x00\x00\x0f\x05\x48\x83\xf8\x00\xc3");
	/* push; mov; loop; pop; ret */
	FUNC(&m, "fixed", "\x53\x89\xf9\xe2\x00\x90\x5b\xc3");
	/* push; xbegin; inc; inc; xend; pop; ret */
	FUNC(&m, "tsx", "\x53\xc7\xf8\x00\x00\x00\x00\xff\xc0\xff\xc0\xff\xc0\x0f\x01\xd5\x5b\xc3");
	FUNC(&m, "SafeFetchN_impl", "\x48\x8b\x07\x48\x83\xc0\x01\x90\x90\xc3");
	/* push; xabort; pop; ret */
	FUNC(&m, "gives_up", "\x53\xc6\xf8\xfd\x90\x90\x90\x5b\xc3");
	FUNC(&m, "__pthread_enable_asynccancel", PLAIN);
	must_read(&m);
	ok(site_lack(&m, CODE, FLOW_ENTRY, false, &w) == FLOW_FITS && w.len == 8 && w.nins == 2,
	   "a call as the last instruction");
	lack_is(&m, CODE + 32, FLOW_ENTRY, FLOW_CALL, "a call before the last one");
	lack_is(&m, CODE + 64, FLOW_ENTRY, FLOW_SYSCALL, "a system call");
	lack_is(&m, CODE + 64 + 5, FLOW_OFFSET, FLOW_SYSCALL, "the same at it");
	lack_is(&m, CODE + 96, FLOW_ENTRY, FLOW_UNMOVABLE, "the instruction loop");
	lack_is(&m, CODE + 128 + 7, FLOW_OFFSET, FLOW_TRANSACTION, "inside of a transaction");
	lack_is(&m, CODE + 160, FLOW_ENTRY, FLOW_KNOWN, "a function that compares addresses");
	lack_is(&m, CODE + 192, FLOW_ENTRY, FLOW_TRANSACTION,
		"the end of one that began elsewhere");
	lack_is(&m, CODE + 224, FLOW_ENTRY, FLOW_KNOWN, "a function that is unwound everywhere");
	made_end(&m);
}

/* mov; syscall: what the kernel lets signal handlers return to */
#define RESTORE "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"

static void test_signal(void)
{
	struct made m = {0};
	uint64_t at;

	(void)ADD(&m, PLAIN "\x90\x90\x90\x90"); /* its return and 4 bytes of padding */
	made_symbol(&m, "before", CODE, 12);
	at = ADD(&m, RESTORE);
	made_pad(&m, 32);
	made_frame(&m, "zS", at, sizeof(RESTORE) - 1, 0);
	must_read(&m);
	lack_is(&m, at, FLOW_OFFSET, FLOW_SIGRETURN, "the code to which handlers return");
	lack_is(&m, CODE + 11, FLOW_EXIT, FLOW_SIGRETURN, "and the byte before it");
	made_end(&m);

	m = (struct made){0};
	(void)ADD(&m, PLAIN "\x90\x90\x90\x90");
	made_symbol(&m, "before", CODE, 12);
	(void)ADD(&m, RESTORE);
	made_pad(&m, 32);
	made_frame(&m, "z", at, sizeof(RESTORE) - 1, 0);
	must_read(&m);
	ok(site_lack(&m, CODE + 11, FLOW_EXIT, false, NULL) == FLOW_FITS, "other code is no such");
	made_end(&m);
}

#define STEPS "\x53\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\x5b\xc3"

/* Pointers in data that lead to the fourth instruction of STEPS. */
static void test_pointers(void)
{
	uint64_t to = CODE + 5, at = DATA;
	struct made m = {0};

	FUNC(&m, "steps", STEPS);
	must_read(&m);
	ok(site_lack(&m, CODE + 3, FLOW_OFFSET, false, NULL) == FLOW_FITS, "nothing leads there");
	made_end(&m);

	m = (struct made){0};
	FUNC(&m, "steps", STEPS);
	(void)made_data(&m, &(uint64_t){0}, 8);
	made_rela(&m, DATA, to);
	must_read(&m);
	lack_is(&m, CODE + 3, FLOW_OFFSET, FLOW_ENTERED, "a relocation");
	made_end(&m);

	m = (struct made){0};
	FUNC(&m, "steps", STEPS);
	(void)made_data(&m, &to, 8);
	strbuf_add(&m.relr, (const char *)&at, 8);
	must_read(&m);
	lack_is(&m, CODE + 3, FLOW_OFFSET, FLOW_ENTERED, "a packed relocation");
	made_end(&m);

	m = (struct made){.type = ET_EXEC};
	FUNC(&m, "steps", STEPS);
	(void)made_data(&m, &to, 8);
	must_read(&m);
	lack_is(&m, CODE + 3, FLOW_OFFSET, FLOW_ENTERED, "a word of a program that is not moved");
	made_end(&m);
}

static void test_rseq(void)
{
	/* version, flags; begin; length; where it goes on when it is interrupted */
	uint64_t section[4] = {0, 0, 4, CODE + 32 + 1};
	struct made m = {.rseq_size = sizeof(section)};

	FUNC(&m, "section", STEPS);
	FUNC(&m, "abort", STEPS);
	(void)made_data(&m, section, sizeof(section));
	made_rela(&m, DATA + 8, CODE + 5);
	must_read(&m);
	lack_is(&m, CODE + 3, FLOW_OFFSET, FLOW_RSEQ, "a critical section");
	ok(site_lack(&m, CODE + 9, FLOW_OFFSET, false, NULL) == FLOW_FITS, "ends");
	lack_is(&m, CODE + 32, FLOW_OFFSET, FLOW_RSEQ, "where it goes on");
	made_end(&m);
}

static void test_many(void)
{
	struct made m = {0};
	struct flow_site both[] = {{CODE, FLOW_ENTRY}, {CODE + 7, FLOW_EXIT}};
	struct flow_site same[FLOW_BODIES_MAX + 1];
	struct flow_site near[] = {{CODE + 33, FLOW_OFFSET},
				   {CODE + 35, FLOW_OFFSET},
				   {CODE + 39, FLOW_OFFSET}};
	struct flow_plan p, q;

	(void)ADD(&m, "\x48\x89\xf8\x48\x83\xc0\x08\xc3"); /* mov; add; ret */
	made_symbol(&m, "small", CODE, 8);
	FUNC(&m, "next", PLAIN);
	FUNC(&m, "steps", STEPS);
	must_read(&m);
	if (flow_plan(m.flow, both, 2, NULL, &p))
		exit(1);
	ok(p.windows.len == 1 && p.windows.data[0].nbodies == 2, "one window for entry and exit");
	ok(p.windows.data[0].bodies[0].site == 0 && p.windows.data[0].bodies[1].off == 4 &&
		   p.windows.data[0].ends,
	   "with two bodies");
	flow_plan_deinit(&p);

	for (uint32_t i = 0; i < ARRAY_LEN(same); i++)
		same[i] = (struct flow_site){CODE + 33, FLOW_OFFSET};
	if (flow_plan(m.flow, same, ARRAY_LEN(same), NULL, &p))
		exit(1);
	ok(p.windows.len == 1 && p.lacks[FLOW_BODIES_MAX - 1] == FLOW_FITS &&
		   p.lacks[FLOW_BODIES_MAX] == FLOW_OVERLAPS,
	   "more bodies than a window has");
	flow_plan_deinit(&p);

	if (flow_plan(m.flow, near, ARRAY_LEN(near), NULL, &p))
		exit(1);
	ok(p.windows.len == 1 && p.windows.data[0].len == 8 && p.windows.data[0].nbodies == 3,
	   "a window that was made longer");
	if (flow_plan(m.flow, &near[1], 1,
		      &(struct flow_opts){.taken = p.windows.data, .ntaken = 1}, &q))
		exit(1);
	ok(q.lacks[0] == FLOW_OVERLAPS, "windows of an earlier plan");
	flow_plan_deinit(&q);
	flow_plan_deinit(&p);
	made_end(&m);
}

/* Without symbols, functions are those of .eh_frame. */
static void test_frames(void)
{
	struct made m = {0};
	struct flow_census n;

	(void)ADD(&m, PLAIN "\xcc\xcc\xcc\xcc" PLAIN "\xcc\xcc\xcc\xcc");
	made_frame(&m, "z", CODE, 12, 0);
	made_frame(&m, "z", CODE + 16, 12, 0);
	must_read(&m);
	if (flow_census(m.flow, &n))
		exit(1);
	ok(!n.has_symbols && n.entries.n == 2 && n.exits.n == 2, "functions of .eh_frame");
	ok(n.nbehind == 2 && n.nargs == 2 && n.nfull == 2 && n.entries.nshort == 0, "all fit");
	made_end(&m);
}

/* Whatever a byte of the file is changed to: no crash, and windows that keep the rules. */
static void test_damage(void)
{
	struct made m = {0};
	uint32_t n = 0, state = 1;

	for (uint32_t round = 0; round < 300; round++) {
		struct flow_census census;
		struct err *e;

		m = (struct made){0};
		FUNC(&m, "a", SWITCH CASES);
		FUNC(&m, "b", THROWS);
		FUNC(&m, "c", PLAIN);
		made_frame(&m, "zL", CODE, 27,
			   made_data(&m, "\xff\xff\x01\x04\x03\x05\x0f\x00", 8));
		made_rela(&m, DATA, CODE + 5);
		for (uint32_t k = 0; k < 3; k++) {
			struct strbuf *parts[] = {&m.code, &m.data, &m.symbols, &m.eh_frame,
						  &m.rela};
			struct strbuf *b;

			state = state * 1103515245 + 12345;
			b = parts[(state >> 16) % ARRAY_LEN(parts)];
			state = state * 1103515245 + 12345;
			b->data[(state >> 8) % b->len] = (char)(state >> 24);
		}
		e = made_read(&m);
		if (!e)
			e = flow_census(m.flow, &census);
		n += !e;
		err_destroy(e);
		made_end(&m);
	}
	ok(n > 200, "%u damaged files were read", n);
}

/* A sparse file of a few blocks whose segments have more than the limit together. */
static void test_sparse(void)
{
	enum { N = 8, LIMIT = 1 << 20, SIZE = 3 << 18 };
	CLEANUP(fd) int fd = memfd_create("flow", MFD_CLOEXEC);
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[N];
	} h = {.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		      .e_type = ET_DYN,
		      .e_machine = EM_X86_64,
		      .e_version = EV_CURRENT,
		      .e_phoff = sizeof(Elf64_Ehdr),
		      .e_ehsize = sizeof(Elf64_Ehdr),
		      .e_phentsize = sizeof(Elf64_Phdr),
		      .e_phnum = N}};
	struct gate_file *file;
	struct flow *f = NULL;
	struct err *e;

	for (uint32_t i = 0; i < N; i++)
		h.ph[i] = (Elf64_Phdr){PT_LOAD,	  i < N / 2 ? PF_R | PF_X : PF_R,
				       i * LIMIT, i * LIMIT,
				       i * LIMIT, SIZE,
				       SIZE,	  4096};
	if (fd < 0 || write(fd, &h, sizeof(h)) != sizeof(h) || ftruncate(fd, N * LIMIT) != 0)
		exit(1);
	file = gate_file_of(fd);
	e = flow_create(file, LIMIT, &f);
	ok(e && strstr(err_text(e), "its code has more than"), "the limit is that of all code: %s",
	   e ? err_text(e) : "");
	err_destroy(e);
	flow_destroy(f);
	gate_file_close(file);
}

static void test_endbr(void)
{
	/* push %rbx; endbr64; mov %rdi,%rax; pop %rbx; ret: the label of a goto that is computed */
	static const uint8_t code[] = "\x53\xf3\x0f\x1e\xfa\x48\x89\xf8\x5b\xc3";
	struct flow_site site = {CODE, FLOW_ENTRY};
	struct flow_plan plan;
	struct made m = {0};
	struct err *e;

	made_symbol(&m, "f", made_code(&m, code, 10), 10);
	e = made_read(&m);
	if (!e)
		e = flow_plan(m.flow, &site, 1, NULL, &plan);
	ok(!e && plan.lacks[0] != FLOW_FITS, "control can enter at endbr64");
	if (!e)
		flow_plan_deinit(&plan);
	err_destroy(e);
	made_end(&m);
}

/* 0: call f; 5: call *word; 11: addr32 call f; 17: jmp *word; 23: jmp f; 28: jmp 23 */
#define CALLS                                                                                      \
	"\xe8\x5b\x00\x00\x00\xff\x15\xf5\x0f\x00\x00\x67\xe8\x4f\x00\x00\x00"                     \
	"\xff\x25\xe9\x0f\x00\x00\xe9\x44\x00\x00\x00\xeb\xf9"

/* Only where a call or jump leads is changed. */
static void test_target(void)
{
	struct made m = {0};
	struct flow_window w = {0};
	struct flow_site both[] = {{CODE, FLOW_OFFSET}, {CODE, FLOW_TARGET}};
	struct flow_site entered[] = {{CODE + 32, FLOW_ENTRY}, {CODE + 33, FLOW_TARGET}};
	struct flow_plan p;

	FUNC(&m, "calls", CALLS);
	FUNC(&m, "entry", "\x53\xe8\x3a\x00\x00\x00\x5b\xc3"); /* push; call; pop; ret */
	made_pad(&m, 96);
	FUNC(&m, "f", PLAIN);
	must_read(&m);
	ok(site_lack(&m, CODE, FLOW_TARGET, false, &w) == FLOW_FITS, "a call");
	ok(w.target == FLOW_TARGET_CODE && w.addr == CODE && w.len == 5 && w.ends, "is changed");
	ok(w.pushed == 8 && !w.has_red_zone && w.has_flags, "its stub is called");
	ok(memcmp(w.old, CALLS, 5) == 0 && w.nbodies == 1 && w.nins == 1, "with its bytes");
	ok(site_lack(&m, CODE + 5, FLOW_TARGET, false, &w) == FLOW_FITS &&
		   w.target == FLOW_TARGET_WORD && w.len == 6 && w.pushed == 8,
	   "a call through a word");
	ok(site_lack(&m, CODE + 11, FLOW_TARGET, false, &w) == FLOW_FITS &&
		   w.target == FLOW_TARGET_CODE && w.len == 6,
	   "a call with a prefix");
	ok(site_lack(&m, CODE + 17, FLOW_TARGET, false, &w) == FLOW_FITS &&
		   w.target == FLOW_TARGET_WORD && w.pushed == 0 && w.has_red_zone,
	   "a jump through a word");
	ok(site_lack(&m, CODE + 23, FLOW_TARGET, false, &w) == FLOW_FITS &&
		   w.target == FLOW_TARGET_CODE && w.pushed == 0,
	   "a jump to which others lead");
	ok(site_lack(&m, CODE + 28, FLOW_TARGET, false, &w) != FLOW_FITS || !w.target,
	   "a short jump has no room for it");
	ok(site_lack(&m, CODE + 1, FLOW_TARGET, false, NULL) == FLOW_NO_CODE, "inside of one");
	ok(site_lack(&m, CODE + 32, FLOW_TARGET, false, NULL) == FLOW_NO_CODE, "no call");
	if (flow_plan(m.flow, both, 2, NULL, &p))
		exit(1);
	ok(p.lacks[0] == FLOW_FITS && p.lacks[1] == FLOW_FITS && p.windows.len == 1 &&
		   p.windows.data[0].nbodies == 2,
	   "two probes of one call");
	flow_plan_deinit(&p);
	if (flow_plan(m.flow, entered, 2, NULL, &p))
		exit(1);
	ok(p.lacks[0] == FLOW_FITS && p.lacks[1] == FLOW_FITS && p.windows.len == 1 &&
		   !p.windows.data[0].target && p.windows.data[0].pushed == 8,
	   "a call that the window of an entry moves");
	flow_plan_deinit(&p);
	made_end(&m);
}

int main(void)
{
	test_target();
	test_plain();
	test_back();
	test_first();
	test_empty();
	test_thunk();
	test_exit_at_first();
	test_ways();
	test_tails();
	test_long_return();
	test_pages();
	test_table();
	test_tables();
	test_labels();
	test_landing();
	test_call();
	test_signal();
	test_pointers();
	test_rseq();
	test_many();
	test_frames();
	test_damage();
	test_sparse();
	test_endbr();
	return tap_done();
}
