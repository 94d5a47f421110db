/* SPDX-License-Identifier: MIT */
/* Windows behind the nops of programs' own probes, and no window over such a nop; padding. */
#include "flow/flow.h"
#include "made.h"
#include "tap.h"

#define ADD(m, bytes) made_code(m, bytes, sizeof(bytes) - 1)

static void must_read(struct made *m)
{
	struct err *e = made_read(m);

	if (e) {
		printf("Bail out! %s\n", err_text(e));
		exit(1);
	}
}

static struct flow_plan plan_of(const struct made *m, const struct flow_site *sites, uint32_t n,
				const uint64_t *nops, uint32_t nnops)
{
	const struct flow_opts opts = {.nops = nops, .nnops = nnops, .at_entry = true};
	struct flow_plan p;

	if (flow_plan(m->flow, sites, n, &opts, &p))
		exit(1);
	return p;
}

static void lack_is(const struct made *m, struct flow_site site, const uint64_t *nops,
		    uint32_t nnops, enum flow_lack want, const char *name)
{
	struct flow_plan p = plan_of(m, &site, 1, nops, nnops);

	is_str(flow_lack_text(p.lacks[0]), flow_lack_text(want), name);
	flow_plan_deinit(&p);
}

/* push; nop; nop; mov; sub; xor; 12: leave; ret */
#define TWO "\x55\x90\x90\x48\x89\xe5\x48\x83\xec\x10\x31\xc0\xc9\xc3"

static void test_behind(void)
{
	static const uint64_t nops[] = {CODE + 1, CODE + 2};
	static const struct flow_site sites[] = {{CODE + 2, FLOW_NOP}, {CODE + 1, FLOW_NOP}};
	const struct flow_window *w;
	struct made m = {0};
	struct flow_plan p;

	(void)ADD(&m, TWO "\xcc\xcc\xcc\xcc");
	made_symbol(&m, "two", CODE, sizeof(TWO) - 1);
	must_read(&m);
	p = plan_of(&m, sites, 2, nops, 2);
	ok(p.lacks[0] == FLOW_FITS && p.lacks[1] == FLOW_FITS, "two nops, one behind the other");
	ok(p.windows.len == 1, "have one window");
	w = p.windows.data;
	ok(p.windows.len == 1 && w->addr == CODE + 3 && w->jump == 5 && w->len == 7, "behind both");
	ok(p.windows.len == 1 && w->nbodies == 2 && w->bodies[0].site == 1 &&
		   w->bodies[1].site == 0 && w->bodies[0].off == 0 && w->bodies[1].off == 0,
	   "with the bodies in the order of the nops");
	ok(p.windows.len == 1 && w->has_red_zone && w->pushed == 0,
	   "what is below the stack pointer may be in use");
	flow_plan_deinit(&p);
	lack_is(&m, (struct flow_site){CODE, FLOW_ENTRY}, nops, 2, FLOW_OTHER_NOP,
		"no entry's window over a nop of another tracer");
	lack_is(&m, (struct flow_site){CODE + 1, FLOW_OFFSET}, nops, 2, FLOW_OTHER_NOP,
		"nor that of an instruction");
	lack_is(&m, (struct flow_site){CODE, FLOW_ENTRY}, NULL, 0, FLOW_FITS,
		"which is one where the nops are not a probe's");
	lack_is(&m, (struct flow_site){CODE + 3, FLOW_NOP}, nops, 2, FLOW_NO_NOP,
		"an instruction that is no nop");
	lack_is(&m, (struct flow_site){CODE + 4, FLOW_NOP}, nops, 2, FLOW_NO_CODE,
		"the middle of an instruction");
	made_end(&m);
}

static void test_ways(void)
{
	/* test; je 5; nop; 5: mov; ret */
	static const uint8_t joins[] = "\x85\xff\x74\x01\x90\xb8\x01\x00\x00\x00\xc3";
	/* mov; nop; ret, and no padding but behind the next function */
	static const uint8_t ends[] = "\xb8\x01\x00\x00\x00\x90\xc3";
	static const uint64_t nops[] = {CODE + 4, CODE + 16, CODE + 22};
	struct flow_plan p;
	struct made m = {0};
	struct flow_site site = {CODE + 16, FLOW_NOP};

	(void)ADD(&m, joins);
	made_symbol(&m, "joins", CODE, sizeof(joins) - 1);
	(void)ADD(&m, ends);
	made_symbol(&m, "ends", CODE + 11, sizeof(ends) - 1);
	(void)ADD(&m, "\x31\xc0\xc3\xc3\x90\xcc\xcc\xcc\xcc\xcc\xcc");
	made_symbol(&m, "last", CODE + 18, 4);
	must_read(&m);
	lack_is(&m, (struct flow_site){CODE + 4, FLOW_NOP}, nops, 3, FLOW_JOINS,
		"control comes to behind the nop from elsewhere, too");
	p = plan_of(&m, &site, 1, nops, 3);
	ok(p.lacks[0] == FLOW_SHORT || p.lacks[0] == FLOW_NO_PAD,
	   "a return without room behind it: %s", flow_lack_text(p.lacks[0]));
	flow_plan_deinit(&p);
	made_end(&m);
}

/* Uprobes that never fire: in padding, behind prefixes of segments, and not on int3. */
static void test_idle(void)
{
	struct made m = {0};
	uint64_t addr = 0;
	uint32_t size = 0;

	(void)ADD(&m, "\x31\xc0\xc3\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x0f\x1f\x00");
	made_symbol(&m, "a", CODE, 3);
	(void)ADD(&m, "\x31\xc0\xc3\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x66\x90");
	made_symbol(&m, "b", CODE + 16, 3);
	(void)ADD(&m, "\x31\xc0\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc");
	made_symbol(&m, "c", CODE + 32, 3);
	(void)ADD(&m, "\x31\xc0\xc3\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\xcc\xcc\xcc");
	made_symbol(&m, "d", CODE + 48, 3);
	must_read(&m);
	is_int(flow_idle_count(m.flow), 4, "pieces of padding");
	ok(flow_idle_find(m.flow, 0, &addr, &size) && addr == CODE + 13 && size == 3,
	   "the last nop of one");
	ok(flow_idle_find(m.flow, 1, &addr, &size) && addr == CODE + 31 && size == 1,
	   "behind its prefix");
	ok(!flow_idle_find(m.flow, 2, &addr, &size), "no int3");
	ok(flow_idle_find(m.flow, 3, &addr, &size) && addr == CODE + 53 && size == 8,
	   "behind prefixes of segments");
	ok(!flow_idle_find(m.flow, 4, &addr, &size), "there are no more");
	made_end(&m);
}

int main(void)
{
	test_behind();
	test_ways();
	test_idle();
	return tap_done();
}
