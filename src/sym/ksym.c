/* SPDX-License-Identifier: MIT */
/* Reads the kernel's symbol table, and finds addresses in it. */
#include "sym/ksym.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sorted.h"

#define KERNEL "vmlinux"

/*
 * An address farther than this above a symbol does not belong to it: symbols have no sizes in
 * kallsyms, and the gap may be a hole or an object without symbols.
 */
#define SPAN_MAX      (1u << 20)
#define LAST_SPAN_MAX (1u << 16)

/* ---- reading -------------------------------------------------------------------------------- */

static const uint8_t hex_values[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/*
 * Parses the line at p, in which the name and the module become strings in place; returns the
 * line's end.
 */
static char *parse_line(char *text, char *p, struct ksym *ret)
{
	taddr addr = 0;
	uint8_t v;

	for (; (v = hex_values[(uint8_t)*p]); p++)
		addr = addr << 4 | (v - 1u);
	*ret = (struct ksym){.addr = addr};
	if (p[0] == ' ' && p[1] && p[1] != '\n' && p[2] == ' ')
		ret->name = (uint32_t)(p + 3 - text);
	else
		ret->addr = 0;
	for (; *p && *p != '\n'; p++)
		if (*p == '\t' || *p == ']')
			*p = '\0';
	return p;
}

static char type_of(const struct ksyms *k, const struct ksym *s)
{
	return k->text[s->name - 2];
}

static const char *name_of(const struct ksyms *k, const struct ksym *s)
{
	return k->text + s->name;
}

static const char *object_of(const struct ksyms *k, const struct ksym *s)
{
	const char *name = name_of(k, s), *behind = name + strlen(name) + 1;

	return *behind == '[' ? behind + 1 : KERNEL;
}

static int sym_compare(const void *pa, const void *pb)
{
	const struct ksym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/*
 * The rank of a symbol among those of one address: global ones come first, then those with fewer
 * leading underscores.
 */
static int sym_rank(const struct ksyms *k, const struct ksym *s)
{
	char type = type_of(k, s);
	bool is_global = type >= 'A' && type <= 'Z';

	return (is_global ? 0 : 1000) + (int)MIN(strspn(name_of(k, s), "_"), 999u);
}

static void keep_best(struct ksyms *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->syms.len; i++) {
		struct ksym s = k->syms.data[i];

		if (n && k->syms.data[n - 1].addr == s.addr) {
			if (sym_rank(k, &s) < sym_rank(k, &k->syms.data[n - 1]))
				k->syms.data[n - 1] = s;
			continue;
		}
		k->syms.data[n++] = s;
	}
	k->syms.len = n;
}

void ksyms_parse(char *text, size_t len, struct ksyms *ret)
{
	struct ksym s;
	uint32_t sorted = 0;
	taddr last = 0;

	*ret = (struct ksyms){.text = text};
	vec_reserve(&ret->syms, len / 40 + 16);
	for (char *p = text; p < text + len;) {
		p = parse_line(text, p, &s);
		*p++ = '\0';
		if (!s.addr || type_of(ret, &s) == 'a' || type_of(ret, &s) == 'A')
			continue;
		if (s.addr >= last && sorted == ret->syms.len) {
			last = s.addr;
			sorted++;
		}
		vec_push(&ret->syms, s);
	}
	/*
	 * The kernel's own symbols are sorted; usually only those of modules, which follow, have to
	 * be.
	 */
	if (sorted < ret->syms.len) {
		struct ksym *tail = ret->syms.data + sorted;

		qsort(tail, ret->syms.len - sorted, sizeof(*tail), sym_compare);
		if (sorted && tail->addr < last)
			qsort(ret->syms.data, ret->syms.len, sizeof(*tail), sym_compare);
	}
	keep_best(ret);
}

struct err *ksyms_read(struct ksyms *ret)
{
	static const char path[] = "/proc/kallsyms";
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0, cap = 8u << 20;
	char *text;
	ssize_t n = 1;

	if (fd < 0)
		return err_sys(errno, "cannot open '%s'", path);
	text = xmalloc(cap);
	while (n > 0) {
		if (cap - len < 1u << 16)
			text = xrealloc(text, cap *= 2);
		n = read(fd, text + len, cap - len - 2);
		if (n > 0)
			len += (size_t)n;
	}
	if (n < 0 || len > UINT32_MAX) {
		struct err *e = err_sys(n < 0 ? errno : EFBIG, "cannot read '%s'", path);

		free(text);
		return e;
	}
	text[len] = text[len + 1] = '\0';
	ksyms_parse(text, len, ret);
	if (ret->syms.len)
		return NULL;
	ksyms_deinit(ret);
	return err_hint(err_new("kernel addresses have no names: '%s' hides them", path),
			"run as root with CAP_SYSLOG; or set kernel.kptr_restrict to 0, and "
			"kernel.perf_event_paranoid to 1 or less");
}

void ksyms_deinit(struct ksyms *k)
{
	vec_deinit(&k->syms);
	vec_deinit(&k->tracing);
	free(k->text);
	k->text = NULL;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* Returns the last symbol at or below addr, or NULL. */
static const struct ksym *ksym_below(const struct ksyms *k, taddr addr)
{
	uint32_t lo = sorted_upto(k->syms.data, k->syms.len, addr, addr);

	return lo ? &k->syms.data[lo - 1] : NULL;
}

static bool is_inside(const struct ksyms *k, const struct ksym *s, taddr addr)
{
	bool is_last = s == vec_last(&k->syms) || strcmp(object_of(k, s), object_of(k, s + 1)) != 0;

	return addr - s->addr < (is_last ? LAST_SPAN_MAX : SPAN_MAX);
}

bool ksyms_find(const struct ksyms *k, taddr addr, struct sym_name *ret)
{
	const struct ksym *s = ksym_below(k, addr);

	*ret = (struct sym_name){0};
	if (!s || !is_inside(k, s, addr))
		return false;
	*ret = (struct sym_name){
		.object = object_of(k, s),
		.name = name_of(k, s),
		.off = addr - s->addr,
	};
	return true;
}

taddr ksyms_start(const struct ksyms *k, taddr addr, bool of_object)
{
	const struct ksym *s = ksym_below(k, addr);

	if (!s || !is_inside(k, s, addr))
		return addr;
	if (!of_object)
		return s->addr;
	if (strcmp(object_of(k, s), KERNEL) == 0)
		return k->syms.data[0].addr;
	while (s > k->syms.data && strcmp(object_of(k, s), object_of(k, s - 1)) == 0)
		s--;
	return s->addr;
}

/* ---- tracing code --------------------------------------------------------------------------- */

/*
 * Prefixes of the functions that the kernel's macros generate for each tracepoint (Linux
 * include/trace/{define_trace,bpf_probe,perf,trace_events}.h). Those marked true call BPF programs;
 * the others lie between them in memory, so that all together form a few large ranges.
 */
static const struct {
	const char *prefix;
	bool calls;
} tracing_names[] = {
	{"__traceiter_", true},
	{"__bpf_trace_", true},
	{"bpf_trace_run", true},
	{"perf_trace_", true},
	{"trace_event_raw_event_", true},
	{"__bpf_prog_test_run_raw_tp", true}, /* BEGIN and END */
	{"bpf_prog_test_run_raw_tp", true},
	{"__probestub_", false},
	{"trace_raw_output_", false},
	{"trace_event_get_offsets_", false},
};

static bool is_tracing_name(const char *name, bool calls_only)
{
	if (strncmp(name, "__pfx_", 6) == 0)
		name += 6;
	for (size_t i = 0; i < ARRAY_LEN(tracing_names); i++)
		if ((tracing_names[i].calls || !calls_only) &&
		    strncmp(name, tracing_names[i].prefix, strlen(tracing_names[i].prefix)) == 0)
			return true;
	return false;
}

bool ksyms_is_tracing(const struct ksyms *k, taddr addr)
{
	const struct ksym *s = ksym_below(k, addr);

	if (!s || !is_inside(k, s, addr))
		return false;
	return is_tracing_name(name_of(k, s), true) || strcmp(object_of(k, s), "bpf") == 0;
}

void ksyms_tracing(struct ksyms *k)
{
	bool was = false;

	if (k->tracing.len)
		return;
	for (uint32_t i = 0; i + 1 < k->syms.len; i++) {
		bool is = is_tracing_name(name_of(k, &k->syms.data[i]), false);

		if (is != was)
			vec_push(&k->tracing, k->syms.data[i].addr);
		was = is;
	}
	if (was)
		vec_push(&k->tracing, vec_last(&k->syms)->addr);
}
