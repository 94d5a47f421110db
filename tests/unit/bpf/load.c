/* SPDX-License-Identifier: MIT */
/*
 * Maps, linking and loading: what is made, what is refused and how that is said, and that every
 * system call may fail without anything staying open.
 */
#include "bpf/engine.h"
#include "record/share.h"
#include "rt_fixture.h"
#include "tap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

/* clang-format off */
#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){                                                                        \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (int16_t)(o), .imm = (i)})
/* clang-format on */
#define MOV_IMM(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define EXIT	      INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Descriptors in use below 256. */
static int nfds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++) {
		int copy = dup(fd);

		if (copy >= 0) {
			n++;
			close(copy);
		}
	}
	return n;
}

/* ---- a session with some of everything -------------------------------------------------- */

struct session {
	struct layout layout;
	struct mach mach;
	struct agg_layout aggs[2];
	struct arena *arena;
	struct key_field keys[2];
	struct var_layout vars[1];
	struct prog_var var;
	struct kmaps_opts opts;
};

static void session_init(struct session *s)
{
	*s = (struct session){.opts = {.bufsize = 10000, .need_tls = true}};
	s->keys[0] = (struct key_field){.repr = KEY_STRHASH, .size = 8};
	s->keys[1] = (struct key_field){.repr = KEY_INT, .off = 8, .size = 4};
	s->aggs[0] = (struct agg_layout){.keys = s->keys,
					 .nkeys = 2,
					 .key_size = 12,
					 .val_size = 16,
					 .max_entries = 1000};
	s->aggs[1] = (struct agg_layout){.val_size = 16, .max_entries = 1};
	s->var = (struct prog_var){.name = "a", .scope = DIF_SCOPE_GLOBAL, .kind = DIF_VAR_ARRAY};
	s->vars[0] = (struct var_layout){.var = &s->var,
					 .is_elem = true,
					 .key_size = 8,
					 .val_size = 8,
					 .max_entries = 100};
	s->layout = (struct layout){
		.aggs = s->aggs,
		.naggs = ARRAY_LEN(s->aggs),
		.vars = s->vars,
		.nvars = 1,
		.gvars_size = 64,
		.tls_size = 48,
		.strsize = 256,
		.strtab = strtab_create(),
		.opts = {.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF)},
	};
	s->mach = (struct mach){.this_off = sizeof(struct rt_mach),
				.size = sizeof(struct rt_mach),
				.scratch_size = 4096};
	s->opts.mach = &s->mach;
	(void)strtab_adds(s->layout.strtab, "a constant");
	s->arena = arena_create();
	share_maps(s->arena, &s->layout);
}

static bool info_of(int fd, struct bpf_map_info *info)
{
	union bpf_attr attr = {.info.bpf_fd = (uint32_t)fd,
			       .info.info_len = sizeof(*info),
			       .info.info = (uint64_t)(uintptr_t)info};

	memset(info, 0, sizeof(*info));
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0;
}

static void is_map(int fd, enum bpf_map_type type, uint32_t value_size, uint32_t max_entries,
		   const char *name)
{
	struct bpf_map_info info;

	ok(info_of(fd, &info), "%s is there", name);
	is_int(info.type, type, name);
	is_int(info.value_size, value_size, name);
	is_int(info.max_entries, max_entries, name);
}

static void test_maps(struct session *s)
{
	uint32_t ncpus = s->layout.opts.ncpus, zero = 0;
	struct kmaps *m = NULL;
	struct err *e = kmaps_create(&s->layout, &s->opts, &m);
	char text[64] = "";
	union bpf_attr attr = {.key = (uint64_t)(uintptr_t)&zero,
			       .value = (uint64_t)(uintptr_t)text};

	if (!ok(!e, "kmaps_create: %s", e ? err_text(e) : "fine"))
		return;
	is_map(m->agg_fds[0], BPF_MAP_TYPE_HASH, 56 + 64 * ncpus, 1000, "aggregation with keys");
	is_map(m->agg_fds[1], BPF_MAP_TYPE_PERCPU_ARRAY, 16, 1, "without");
	is_map(m->arr_fds[0], BPF_MAP_TYPE_HASH, 8, 100, "associative array");
	is_map(m->fd[MAP_TLS], BPF_MAP_TYPE_TASK_STORAGE, 48, 0, "self->");
	is_map(m->fd[MAP_STRINGS], BPF_MAP_TYPE_HASH, 260, 1000, "key strings");
	is_map(m->ring_fds[0], BPF_MAP_TYPE_RINGBUF, 0, 16384, "bufsize is rounded up");
	is_int(m->ring_size, 16384, "and says so");
	is_map(m->fd[MAP_MACH], BPF_MAP_TYPE_ARRAY, sizeof(struct rt_mach), ncpus * RT_LEVELS,
	       "machines");
	is_int(m->control->ncpus, ncpus, "the control block is mapped");
	attr.map_fd = (uint32_t)m->fd[MAP_STRTAB];
	is_int(sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)), 0, "string table");
	is_str(text + 1, "a constant", "is filled");
	is_int(sys_bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)), -1, "and frozen");
	kmaps_destroy(m);
}

static void test_too_much(struct session *s)
{
	struct session big = *s;
	struct kmaps *m = NULL;
	struct err *e;

	big.opts.mach = &big.mach;
	big.mach.scratch_size = 1u << 30;
	e = kmaps_create(&big.layout, &big.opts, &m);
	ok(e && strstr(err_get_hint(e), "strsize"), "%s", e ? err_text(e) : "?");
	err_destroy(e);
}

/* ---- loading ---------------------------------------------------------------------------- */

static uint64_t mask[1] = {1};
static struct unit_probe probes[] = {
	{.key = 7, .id = {.probe = 70, .probe_idx = 1, .names = {1, 2, 3, 4}}, .mask = mask},
	{.key = 3, .id = {.probe = 30}, .mask = mask},
};
static const struct unit unit = {.name = "a unit",
				 .place = {.kind = PLACE_TEST_RUN},
				 .nwords = 1,
				 .probes = probes,
				 .nprobes = ARRAY_LEN(probes)};

/* insns: what the entry does; calls a static function, and that one calls rt_sdiv. */
static void code_make(struct bpf_code *c, const struct bpf_insn *insns, uint32_t n, bool calls)
{
	*c = (struct bpf_code){0};
	vec_push(&c->funcs, (struct bpf_func){.name = "entry", .clause = UINT32_MAX});
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&c->insns, insns[i]);
		vec_push(&c->spans, 100 + i);
	}
	if (calls) {
		vec_push(&c->relocs,
			 (struct bpf_reloc){.insn = c->insns.len, .kind = RELOC_FUNC, .ref = 1});
		vec_push(&c->insns, INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0));
	}
	vec_push(&c->insns, MOV_IMM(0, 0));
	vec_push(&c->insns, EXIT);
	if (!calls)
		return;
	vec_push(&c->funcs,
		 (struct bpf_func){.start = c->insns.len, .name = "clause 1", .clause = 1});
	vec_push(&c->insns, MOV_IMM(1, 0));
	vec_push(&c->insns, MOV_IMM(2, 7));
	vec_push(&c->insns, MOV_IMM(3, 2));
	vec_push(&c->relocs,
		 (struct bpf_reloc){.insn = c->insns.len, .kind = RELOC_RT, .name = "rt_sdiv"});
	vec_push(&c->insns, INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0));
	vec_push(&c->insns, EXIT);
}

static struct err *load(struct session *s, struct kmaps *m, const struct bpf_code *c, FILE *log,
			struct loaded *ret, uint32_t *ret_span)
{
	return unit_load(&unit, c, m, &s->layout, log, ret, ret_span);
}

static void test_load(struct session *s, struct kmaps *m)
{
	struct loaded l = {.prog_fd = -1, .dispatch_fd = -1};
	struct bpf_code c;
	uint32_t span = 5, key = 7;
	uint64_t value[sizeof(struct rt_dispatch) / 8 + 1] = {0};
	const struct rt_dispatch *d = (const struct rt_dispatch *)value;
	union bpf_attr attr = {.key = (uint64_t)(uintptr_t)&key,
			       .value = (uint64_t)(uintptr_t)value};
	struct err *e;
	int tp = -1;

	code_make(&c, NULL, 0, true);
	e = load(s, m, &c, NULL, &l, &span);
	if (!ok(!e, "unit_load: %s", e ? err_text(e) : "fine"))
		return;
	attr.map_fd = (uint32_t)l.dispatch_fd;
	is_int(sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)), 0, "the probe table");
	is_int(d->probe, 70, "probe");
	is_int(d->names[3], 4, "names");
	is_int(d->mask[0], 1, "mask");
	key = 5;
	(void)sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
	is_int(d->probe, 0, "no probe");
	e = prog_test_run(l.prog_fd, 7);
	ok(!e, "prog_test_run");
	err_destroy(e);
	e = attach_raw_tracepoint(l.prog_fd, "sys_enter", &tp);
	ok(!e && tp >= 0, "attach_raw_tracepoint");
	err_destroy(e);
	close(tp);
	e = attach_raw_tracepoint(l.prog_fd, "no_such_point", &tp);
	is_str(e ? err_text(e) : "", "this kernel has no tracepoint 'no_such_point'",
	       "an unknown one");
	err_destroy(e);
	close(l.prog_fd);
	close(l.dispatch_fd);
	free(l.progs);
	bpf_code_deinit(&c);
}

static void test_cpu_clock(struct session *s, struct kmaps *m)
{
	struct unit u = unit;
	struct bpf_code c;
	struct loaded l = {.prog_fd = -1, .dispatch_fd = -1};
	uint32_t span;
	int event = -1, link = -1;
	struct err *e;

	u.place.kind = PLACE_TIMER;
	code_make(&c, NULL, 0, false);
	e = unit_load(&u, &c, m, &s->layout, NULL, &l, &span);
	ok(!e, "a program for timer events");
	err_destroy(e);
	e = attach_cpu_clock(l.prog_fd, 0, 10000000, 42, &event, &link);
	ok(!e && event >= 0 && link >= 0, "attach_cpu_clock");
	err_destroy(e);
	close(link);
	close(event);
	e = attach_cpu_clock(l.prog_fd, 100000, 10000000, 42, &event, &link);
	ok(e, "%s", e ? err_text(e) : "?");
	err_destroy(e);
	close(l.prog_fd);
	close(l.dispatch_fd);
	free(l.progs);
	bpf_code_deinit(&c);
}

/*
 * The deepest place for a run-time function is an ERROR clause that is cut, as is the clause that
 * faults: five functions are above it, those that generated code makes. Clauses of ERROR do not
 * call the helper machine, but have a copy of it (bpf/gen_stack.c), so three functions are above
 * that.
 */
static void test_rt_budget(struct kmaps *m)
{

	for (uint32_t i = 0; i < rt_image.nfuncs; i++) {
		struct call_budget b = {0};
		struct linked linked;
		struct bpf_code c = {0};
		uint32_t insn, above = 5;
		struct err *e;

		if (!rt_image.funcs[i].is_global)
			continue;
		vec_push(&c.funcs, (struct bpf_func){.name = "entry", .clause = UINT32_MAX});
		vec_push(&c.relocs, (struct bpf_reloc){.insn = 0,
						       .kind = RELOC_RT,
						       .name = rt_image.funcs[i].name});
		vec_push(&c.insns, INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0));
		vec_push(&c.insns, EXIT);
		e = kmaps_link_code(m, &c, NULL, &linked);
		if (!e)
			e = budget_check(&linked, &c, &b, &insn);
		if (strcmp(rt_image.funcs[i].name, "rt_helper_run") == 0)
			above = 3;
		ok(!e && b.calls - 1 + above <= BUDGET_CALLS &&
			   b.stack - 32 + above * 64 <= BUDGET_STACK,
		   "%s: %u functions, %u bytes", rt_image.funcs[i].name, b.calls - 1, b.stack - 32);
		err_destroy(e);
		linked_deinit(&linked);
		bpf_code_deinit(&c);
	}
}

static void test_refusals(struct session *s, struct kmaps *m)
{
	static const struct {
		struct bpf_insn insns[4];
		uint32_t span;
		const char *text;
	} rows[] = {
		/* a load from a number */
		{{MOV_IMM(1, 5), MOV_IMM(2, 0), INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 0, 0),
		  MOV_IMM(0, 0)},
		 102,
		 "R1 invalid mem access 'scalar'"},
		/* a helper that does not exist */
		{{MOV_IMM(1, 5), INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 100000), MOV_IMM(0, 0),
		  MOV_IMM(0, 0)},
		 101,
		 "this kernel lacks a function that the clauses need"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bpf_code c;
		struct loaded l = {.prog_fd = -2, .dispatch_fd = -2};
		uint32_t span = 0;
		CLEANUP(free) char *text = NULL;
		size_t size = 0;
		FILE *log = open_memstream(&text, &size);
		struct err *e;

		code_make(&c, rows[i].insns, 4, false);
		e = load(s, m, &c, log, &l, &span);
		(void)fclose(log);
		ok(e && strstr(err_text(e), rows[i].text), "%s", e ? err_text(e) : "not refused");
		is_int(span, rows[i].span, "its place");
		ok(strstr(text, "processed"), "the log is the verifier's");
		is_int(l.prog_fd, -2, "result untouched");
		err_destroy(e);
		bpf_code_deinit(&c);
	}
}

/* ---- bad luck --------------------------------------------------------------------------- */

/* Everything a session does; true when all went well. */
static bool everything(struct session *s)
{
	struct kmaps *m = NULL;
	struct loaded l = {.prog_fd = -1, .dispatch_fd = -1};
	struct bpf_code c;
	uint32_t span;
	struct err *e = kmaps_create(&s->layout, &s->opts, &m);
	int tp = -1;

	if (e) {
		err_destroy(e);
		return false;
	}
	code_make(&c, NULL, 0, true);
	e = load(s, m, &c, NULL, &l, &span);
	if (!e)
		e = prog_test_run(l.prog_fd, 3);
	if (!e)
		e = attach_raw_tracepoint(l.prog_fd, "sys_enter", &tp);
	if (tp >= 0)
		close(tp);
	if (l.prog_fd >= 0)
		close(l.prog_fd);
	if (l.dispatch_fd >= 0)
		close(l.dispatch_fd);
	free(l.progs);
	kmaps_destroy(m);
	bpf_code_deinit(&c);
	if (!e)
		return true;
	err_destroy(e);
	return false;
}

static void test_bad_luck(struct session *s)
{
	int before = nfds();
	unsigned int n = 1, nworked = 0;
	bool is_pending;

	for (is_pending = false; !is_pending && n < 200; n++) {
		sys_fail_set(n);
		nworked += everything(s);
		is_pending = sys_fail_pending();
		sys_fail_set(0);
	}
	ok(n > 20 && is_pending, "%u calls fail, one after the other", n - 2);
	is_int(nworked, 2,
	       "each failure is an error, but a refusal that does not repeat is overcome");
	is_int(nfds(), before, "and leaves no descriptor");
}

/* ---- speed ------------------------------------------------------------------------------ */

static void test_speed(struct session *s)
{
	struct rusage ru;
	struct kmaps *m = NULL;
	struct loaded l = {.prog_fd = -1, .dispatch_fd = -1};
	struct linked linked;
	struct bpf_code c;
	uint32_t span;
	uint64_t t[4];
	struct err *e;

	s->opts.bufsize = 4 << 20;
	code_make(&c, NULL, 0, true);
	t[0] = cpu_ns();
	e = kmaps_create(&s->layout, &s->opts, &m);
	t[1] = cpu_ns();
	if (!e)
		e = kmaps_link_code(m, &c, NULL, &linked);
	t[2] = cpu_ns();
	if (!e)
		linked_deinit(&linked);
	if (!e)
		e = load(s, m, &c, NULL, &l, &span);
	t[3] = cpu_ns();
	(void)getrusage(RUSAGE_SELF, &ru);
	printf("# maps %.2f ms, linking %.2f ms, linking and loading %.2f ms; peak %ld KB\n",
	       (double)(t[1] - t[0]) / 1e6, (double)(t[2] - t[1]) / 1e6,
	       (double)(t[3] - t[2]) / 1e6, ru.ru_maxrss);
	ok(!e && t[3] - t[0] < 100000000 * tap_patience(), "all of it in little time on CPU");
	err_destroy(e);
	close(l.prog_fd);
	close(l.dispatch_fd);
	free(l.progs);
	kmaps_destroy(m);
	bpf_code_deinit(&c);
}

int main(void)
{
	struct session s;
	struct kmaps *m = NULL;
	struct err *e;
	int before = nfds();

	session_init(&s);
	test_maps(&s);
	test_too_much(&s);
	is_int(nfds(), before, "no descriptor is left");
	e = kmaps_create(&s.layout, &s.opts, &m);
	if (!ok(!e, "maps for the rest"))
		return tap_done();
	test_load(&s, m);
	test_cpu_clock(&s, m);
	test_rt_budget(m);
	test_refusals(&s, m);
	kmaps_destroy(m);
	test_bad_luck(&s);
	test_speed(&s);
	is_int(nfds(), before, "no descriptor is left");
	strtab_destroy(s.layout.strtab);
	arena_destroy(s.arena);
	return tap_done();
}
