/* SPDX-License-Identifier: MIT */
/*
 * Loads a unit: its dispatch map and its program; explains a refusal by the verifier.
 */
#include "base/text.h"
#include "bpf/engine.h"
#include "kernel/budget.h"
#include "kernel/quota.h"
#include "bpf/kfunc_table.h"

#include <errno.h>
#include <sys/mman.h>

#define LICENSE	  "Dual MIT/GPL"
#define LOG_SIZE  (64u << 20) /* memory is used only as far as the log goes */
#define VERBOSITY 1

/* ---- dispatch map ----------------------------------------------------------------------- */

static size_t dispatch_size(const struct unit *u)
{
	return sizeof(struct rt_dispatch) + u->nwords * sizeof(uint64_t);
}

static struct err *table_set(const struct unit *u, int fd, uint32_t *keys, void *values, uint32_t n)
{
	union bpf_attr attr = {
		.batch.keys = (uint64_t)(uintptr_t)keys,
		.batch.values = (uint64_t)(uintptr_t)values,
		.batch.count = n,
		.batch.map_fd = (uint32_t)fd,
	};

	if (n && sys_bpf(BPF_MAP_UPDATE_BATCH, &attr, sizeof(attr)))
		return err_sys(errno, "cannot fill the probe table of '%s'", u->name);
	return NULL;
}

static struct err *dispatch_fill(const struct unit *u, int fd)
{
	size_t value_size = dispatch_size(u);
	CLEANUP(free) uint32_t *keys = xcalloc(u->nprobes, sizeof(*keys));
	CLEANUP(free) char *values = xcalloc(u->nprobes, value_size);

	for (uint32_t i = 0; i < u->nprobes; i++) {
		const struct unit_probe *pr = &u->probes[i];
		struct rt_dispatch *d = (struct rt_dispatch *)(values + i * value_size);

		keys[i] = pr->key;
		*d = (struct rt_dispatch){.probe = pr->id.probe,
					  .probe_idx = pr->id.probe_idx,
					  .tgid = pr->tgid,
					  .pc = pr->relay_pc};
		memcpy(d->names, pr->id.names, sizeof(d->names));
		if (place_traits(u->place.kind)->is_syscall)
			d->key = pr->key;
		else
			d->spot = pr->spot;
		memcpy(d->mask, pr->mask, u->nwords * sizeof(uint64_t));
	}
	return table_set(u, fd, keys, values, u->nprobes);
}

/* is_all: of whatever process. */
static struct err *dispatch_clear(const struct unit *u, const struct loaded *l, uint32_t tgid,
				  bool is_all)
{
	CLEANUP(free) uint32_t *keys = xcalloc(u->nprobes, sizeof(*keys));
	CLEANUP(free) char *nothing = xcalloc(u->nprobes, dispatch_size(u));
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nprobes; i++)
		if (is_all || u->probes[i].tgid == tgid)
			keys[n++] = u->probes[i].key;
	return table_set(u, l->dispatch_fd, keys, nothing, n);
}

struct err *unit_drop_process(const struct unit *u, const struct loaded *l, uint32_t tgid)
{
	return dispatch_clear(u, l, tgid, false);
}

struct err *unit_silence(const struct unit *u, const struct loaded *l)
{
	return dispatch_clear(u, l, 0, true);
}

void unit_close_tables(struct loaded *l)
{
	if (l->dispatch_fd >= 0)
		(void)close(l->dispatch_fd);
	l->dispatch_fd = -1;
	quota_give(QUOTA_MEMORY, l->quota_bytes);
	l->quota_bytes = 0;
}

static struct err *table_create(const struct unit *u, const char *name, uint32_t n, size_t size,
				struct loaded *l, int *ret_fd)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = (uint32_t)size,
		.max_entries = n,
	};
	struct err *e;

	e = quota_take(QUOTA_MEMORY, (uint64_t)n * size);
	if (e)
		return e;
	l->quota_bytes += (uint64_t)n * size;
	(void)snprintf(attr.map_name, sizeof(attr.map_name), "%s", name);
	*ret_fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (*ret_fd < 0)
		return err_sys(errno,
			       "cannot create the probe table of '%s' (%u entries of %zu bytes)",
			       u->name, n, size);
	return NULL;
}

static struct err *dispatch_create(const struct unit *u, struct loaded *l, int *ret_fd)
{
	CLEANUP(fd) int fd = -1;
	uint32_t n = 1;
	struct err *e;

	for (uint32_t i = 0; i < u->nprobes; i++)
		n = MAX(n, u->probes[i].key + 1);
	e = table_create(u, "dispatch", n, dispatch_size(u), l, &fd);
	if (!e)
		e = dispatch_fill(u, fd);
	if (!e)
		*ret_fd = fd_take(&fd);
	return e;
}

/* The table of kfunc_table.h, as the code of the unit expects it. */
static struct err *kfuncs_create(const struct unit *u, struct loaded *l, int *ret_fd)
{
	CLEANUP(free) uint32_t *keys = NULL;
	CLEANUP(fd) int fd = -1;
	struct kfunc_table t;
	struct err *e;

	if (!kfunc_table_make(u, &t))
		BUG("the code of '%s' has a table that cannot be made", u->name);
	e = table_create(u, "kfuncs", 1u << t.bits, sizeof(*t.buckets), l, &fd);
	keys = xcalloc((size_t)1 << t.bits, sizeof(*keys));
	for (uint32_t i = 0; i < 1u << t.bits; i++)
		keys[i] = i;
	if (!e)
		e = table_set(u, fd, keys, t.buckets, 1u << t.bits);
	kfunc_table_deinit(&t);
	if (!e)
		*ret_fd = fd_take(&fd);
	return e;
}

/* ---- the verifier's log ----------------------------------------------------------------- */

/* Phrases of the verifier (Linux kernel/bpf/verifier.c), and their meaning for a writer of D. */
/* clang-format off */
static const struct {
	const char *phrase, *reason, *hint;
} refusals[] = {
	{"program is too large",
	 "the clauses are too complex: proving them safe takes more than a million steps",
	 "make expressions shorter or split the script: several can run at the same time"},
	{"jumps is too complex", "an expression has more branches than the verifier follows (8192)",
	 "compute parts of it in this-> variables first"},
	{"combined stack size", "an expression needs more stack than a probe has",
	 "compute parts of it in this-> variables first"},
	{"total number of maps", "there are too many aggregations and arrays: a program may have 64 maps",
	 "use one aggregation with one key more, or split the script: several can run at the same time"},
	{"too many subprogs", "the clauses call more functions than a program may have (256)",
	 "split the script: several of them can run at the same time"},
	{"invalid func", "this kernel lacks a function that the clauses need", NULL},
	{"unknown func", "this kernel lacks a function that the clauses need", NULL},
	{"program of this type cannot use helper", "this kernel forbids a function that the clauses need",
	 "kernel lockdown or a security module may be the reason"},
};
/* clang-format on */

struct verdict {
	uint32_t insn;	/* UINT32_MAX: unknown */
	char text[160]; /* the last line that the verifier wrote about its reason */
};

/* Whether a line is an instruction: "12: (85) call ..." */
static bool line_is_insn(const char *line, uint32_t *ret_insn)
{
	char *end;
	unsigned long n = strtoul(line, &end, 10);

	if (end == line || strncmp(end, ": (", 3) != 0)
		return false;
	*ret_insn = (uint32_t)n;
	return true;
}

/*
 * Whether a line is a state, printed between instructions: "R1=...", "; source", "from 5 to 7:
 * ...".
 */
static bool line_is_state(const char *line)
{
	static const char *const starts[] = {";",	    "from ",
					     "processed ",  "verification time",
					     "stack depth", "mark_precise",
					     "func#",	    "arg#",
					     "last_idx"};

	return line[0] == '\0' || text_begins(line, starts, ARRAY_LEN(starts)) ||
	       (line[0] >= '0' && line[0] <= '9' && strstr(line, ": R"));
}

static struct verdict log_read(char *log)
{
	struct verdict v = {.insn = UINT32_MAX};
	char *save = NULL;

	for (char *line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (line_is_insn(line, &v.insn) || line_is_state(line))
			continue;
		(void)snprintf(v.text, sizeof(v.text), "%s", line);
	}
	return v;
}

/* The source offset of an instruction of the unit; 0 in the run-time library or when unknown. */
static uint32_t span_find(const struct bpf_code *code, uint32_t insn)
{
	uint32_t start = 0;

	if (insn >= code->insns.len)
		return 0;
	for (uint32_t i = 0; i < code->funcs.len; i++)
		if (code->funcs.data[i].start <= insn)
			start = code->funcs.data[i].start;
	/* an instruction without a span belongs to the nearest one before it in its function */
	for (uint32_t i = MIN(insn + 1, code->spans.len); i > start; i--)
		if (code->spans.data[i - 1])
			return code->spans.data[i - 1];
	return 0;
}

static struct err *verdict_error(const struct verdict *v, const struct unit *u,
				 const struct bpf_code *code, const struct linked *l)
{
	const char *func = v->insn == UINT32_MAX ? "" : linked_func_name(l, code, v->insn);
	struct err *e;

	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		if (!strstr(v->text, refusals[i].phrase))
			continue;
		e = err_new("the kernel's verifier refused the program '%s': %s", u->name,
			    refusals[i].reason);
		return refusals[i].hint ? err_hint(e, "%s", refusals[i].hint) : e;
	}
	e = err_new("the kernel's verifier refused the program '%s'%s%s%s: %s", u->name,
		    func[0] ? " in '" : "", func, func[0] ? "'" : "", v->text);
	return err_hint(
		e, "-xbpflog shows the verifier's whole log; please report it with the script");
}

/* ---- loading ---------------------------------------------------------------------------- */

static union bpf_attr load_attr(const struct unit *u, const struct linked *l,
				const struct prog_target *target)
{
	union bpf_attr attr = {
		.prog_type = place_prog_type(u->place.kind),
		.expected_attach_type = target->attach_type,
		.attach_btf_id = target->btf_id,
		.attach_btf_obj_fd = (uint32_t)target->btf_fd,
		.insns = (uint64_t)(uintptr_t)l->insns.data,
		.insn_cnt = l->insns.len,
		.license = (uint64_t)(uintptr_t)LICENSE,
		.prog_btf_fd = (uint32_t)l->btf_fd,
		.func_info = (uint64_t)(uintptr_t)l->funcs.data,
		.func_info_rec_size = sizeof(struct bpf_func_info),
		.func_info_cnt = l->funcs.len,
	};
	size_t n = 0;

	/* the kernel accepts letters, digits, '_' and '.' */
	for (; u->name[n] && n < sizeof(attr.prog_name) - 1; n++) {
		char c = u->name[n];
		bool is_fine = ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9');

		attr.prog_name[n] = is_fine ? c : '_';
	}
	return attr;
}

static struct err *load_refused(const struct unit *u, const struct linked *l, int sys)
{
	struct err *e;

	if (sys == E2BIG) /* BPF_COMPLEXITY_LIMIT_INSNS */
		return err_hint(err_new("%u clauses on one kind of probe make %u instructions: the "
					"kernel takes 1000000 in a program",
					u->nclauses, l->insns.len),
				"split the script: several of them can run at the same time");
	e = err_sys(sys, "the kernel refused the program '%s'", u->name);
	if (sys == EPERM)
		return err_hint(e, "tracing needs CAP_BPF and CAP_PERFMON; try sudo");
	if (sys == ENOMEM)
		return err_hint(e, "the memory limit of this control group may be too low");
	return e;
}

/*
 * Loads a refused program again, with a log. sys: why it was refused before; 0: this is the first
 * load. If the log tells nothing, the error is that of the first load. If the program is accepted
 * now, the refusal was not the verifier's, and the program is used.
 */
static struct err *load_explain(const struct unit *u, const struct bpf_code *code,
				const struct linked *l, union bpf_attr attr, int sys, FILE *log,
				uint32_t *ret_span, int *ret_prog)
{
	struct verdict v;
	struct err *e = NULL;
	char *text;
	int fd;

	if (sys && sys != EINVAL && sys != EACCES && sys != E2BIG && sys != EPERM &&
	    sys != ENOSPC && sys != EFAULT && sys != ENOMEM)
		return load_refused(u, l, sys);
	text = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (text == MAP_FAILED)
		return load_refused(u, l, sys ? sys : errno);
	attr.log_buf = (uint64_t)(uintptr_t)text;
	attr.log_size = LOG_SIZE;
	attr.log_level = VERBOSITY;
	fd = sys_bpf_load(&attr, sizeof(attr));
	if (fd < 0 && !sys)
		sys = errno;
	text[LOG_SIZE - 1] = '\0';
	if (log)
		(void)fputs(text, log); /* errors of writing a listing are not reported */
	v = log_read(text);
	if (fd >= 0) {
		*ret_prog = fd;
	} else if (v.text[0]) {
		*ret_span = span_find(code, v.insn);
		e = verdict_error(&v, u, code, l);
	} else {
		e = load_refused(u, l, sys);
	}
	(void)munmap(text, LOG_SIZE);
	return e;
}

/* Loads program i of a unit. */
static struct err *prog_load(const struct unit *u, const struct bpf_code *code,
			     const struct linked *l, uint32_t i, FILE *log, uint32_t *ret_span,
			     int *ret_prog)
{
	struct prog_target target;
	union bpf_attr attr;
	struct err *e = place_target(u, i, &target);
	int prog;

	if (e)
		return e;
	attr = load_attr(u, l, &target);
	prog = log ? -1 : sys_bpf_load(&attr, sizeof(attr));
	if (prog < 0)
		e = load_explain(u, code, l, attr, log ? 0 : errno, log, ret_span, &prog);
	if (target.btf_fd > 0)
		(void)close(target.btf_fd);
	if (!e)
		*ret_prog = prog;
	return e;
}

/* Loads all programs of a unit; after an error there are none. */
static struct err *progs_load(const struct unit *u, const struct bpf_code *code,
			      const struct linked *l, FILE *log, uint32_t *ret_span, int *progs)
{
	uint32_t n = place_nprogs(u), i;
	struct err *e = NULL;

	for (i = 0; i < n && !e; i++)
		e = prog_load(u, code, l, i, i ? NULL : log, ret_span, &progs[i]);
	for (uint32_t k = 0; e && k + 1 < i; k++)
		(void)close(progs[k]);
	return e;
}

static bool code_uses(const struct bpf_code *code, enum map_class map)
{
	for (uint32_t i = 0; i < code->relocs.len; i++)
		if (code->relocs.data[i].kind == RELOC_MAP &&
		    code->relocs.data[i].ref == MAP_REF(map, 0))
			return true;
	return false;
}

static struct err *unit_load_counted(const struct unit *u, const struct bpf_code *code,
				     struct kmaps *m, FILE *log, struct loaded *ret_loaded,
				     uint32_t *ret_span)
{
	CLEANUP(free) int *progs = xcalloc(place_nprogs(u), sizeof(*progs));
	CLEANUP(fd) int dispatch = -1;
	CLEANUP(fd) int kfuncs = -1;
	struct linked l;
	struct err *e = dispatch_create(u, ret_loaded, &dispatch);
	uint32_t insn = 0;
	int helpers = -1;

	*ret_span = 0;
	if (!e && code_uses(code, MAP_HPROGS))
		e = kmaps_helper_array(m, place_prog_type(u->place.kind),
				       place_attach_type(u->place.kind), &helpers);
	if (!e && code_uses(code, MAP_KFUNCS))
		e = kfuncs_create(u, ret_loaded, &kfuncs);
	if (!e)
		e = kmaps_link_code(m, code, &(struct own_maps){dispatch, helpers, kfuncs}, &l);
	if (e)
		return e;
	e = budget_check(&l, code, &ret_loaded->budget, &insn);
	if (e)
		*ret_span = span_find(code, insn);
	else
		e = progs_load(u, code, &l, log, ret_span, progs);
	if (!e) {
		ret_loaded->prog_fd = progs[0];
		ret_loaded->nprogs = place_nprogs(u);
		ret_loaded->progs = progs;
		progs = NULL;
		ret_loaded->dispatch_fd = fd_take(&dispatch);
	}
	linked_deinit(&l);
	return e;
}

struct err *unit_load(const struct unit *u, const struct bpf_code *code, struct kmaps *m,
		      const struct layout *layout, FILE *log, struct loaded *ret_loaded,
		      uint32_t *ret_span)
{
	struct err *e = unit_load_counted(u, code, m, log, ret_loaded, ret_span);

	if (e)
		unit_close_tables(ret_loaded);
	return e;
}
