/* SPDX-License-Identifier: MIT */
/* Hints at probe descriptions of another tracer, and at wrong separators. */
#include "d/parse/desc_hint.h"

#include "base/str.h"

#define FIELDS_MAX 4u

/* The words of another tracer's description between its ':'; the last one holds the rest. */
struct words {
	const char *w[FIELDS_MAX];
	uint32_t n;
};

static struct words words_split(struct arena *a, const char *text)
{
	struct words f = {{"", "", "", ""}, 0};

	while (f.n < FIELDS_MAX) {
		size_t len = f.n + 1 < FIELDS_MAX ? strcspn(text, ":") : strlen(text);

		f.w[f.n++] = arena_strndup(a, text, len);
		if (!text[len])
			break;
		text += len + 1;
	}
	return f;
}

/* ---- other tracers --------------------------------------------------------------------------- */

/*
 * Makes the hint of a row: the description in D, or NULL when D has nothing like it. point: "entry"
 * or "return", or the row's other word.
 */
typedef const char *hint_f(struct arena *a, const struct words *f, const char *point);

static const char *hint_kernel(struct arena *a, const struct words *f, const char *point)
{
	const char *func = f->w[f->n - 1];

	return arena_printf(
		a, "in D, kernel functions are fbt::%s:%s, and system calls syscall::NAME:%s", func,
		point, point);
}

/* For tracepoint:syscalls:sys_enter_openat, and tracepoint:sched:sched_switch. */
static const char *hint_tracepoint(struct arena *a, const struct words *f, const char *point)
{
	const char *cat = f->w[1], *name = f->w[2];
	bool is_raw = strcmp(cat, "raw_syscalls") == 0;

	if (is_raw || strcmp(cat, "syscalls") == 0) {
		bool enters = strncmp(name, "sys_enter", 9) == 0,
		     exits = strncmp(name, "sys_exit", 8) == 0;
		const char *call = name + (enters ? 9 : 8);

		point = enters ? "entry" : "return";
		if (is_raw && (enters || exits))
			return arena_printf(a, "in D: syscall:::%s", point);
		if ((enters || exits) && *call == '_' && call[1])
			return arena_printf(a, "in D: syscall::%s:%s", call + 1, point);
	}
	return arena_printf(
		a, "in D: sdt:%s::%s, with the fields of its record as args[0], args[1]...",
		*cat ? cat : "GROUP", *name ? name : "NAME");
}

/* For rawtracepoint:sched_switch; newer versions of the other tracer put the module before it. */
static const char *hint_raw(struct arena *a, const struct words *f, const char *point)
{
	(void)point;
	return arena_printf(a, "in D: rawtp:::%s", *f->w[f->n - 1] ? f->w[f->n - 1] : "NAME");
}

/* For perf's spelling, syscalls:sys_enter_openat. */
static const char *hint_syscalls(struct arena *a, const struct words *f, const char *point)
{
	struct words full = {{"tracepoint", f->w[0], f->w[1], ""}, 3};

	return hint_tracepoint(a, &full, point);
}

/*
 * For uprobe:/bin/bash:readline. A program's own functions are in module a.out; the name of its
 * file means the same module.
 */
static const char *hint_user(struct arena *a, const struct words *f, const char *point)
{
	const char *module = f->n > 2 ? basename(f->w[1]) : "a.out";
	const char *func = f->n > 1 && *f->w[f->n - 1] ? f->w[f->n - 1] : "FUNCTION";

	return arena_printf(a, "in D: pid$target:%s:%s:%s, with -p PID or -c COMMAND", module, func,
			    point);
}

/* The name of a probe as D writes it: '-' for the "__" of its C name. */
static const char *usdt_name(struct arena *a, const char *text)
{
	char *out = arena_strndup(a, text, strlen(text)), *w = out;

	for (const char *r = text; *r; r++) {
		bool is_dash = r[0] == '_' && r[1] == '_';

		*w++ = is_dash ? '-' : *r;
		r += is_dash;
	}
	*w = '\0';
	return out;
}

/* For usdt:/usr/bin/python3:python:function__entry; the provider may be left out. */
static const char *hint_usdt(struct arena *a, const struct words *f, const char *point)
{
	const char *prov = f->n > 3 && *f->w[2] ? f->w[2] : "PROVIDER";
	const char *name = f->n > 2 && *f->w[f->n - 1] ? usdt_name(a, f->w[f->n - 1]) : "NAME";

	(void)point;
	return arena_printf(a,
			    "in D: %s$target:::%s, with -p PID or -c COMMAND; %s*:::%s is that of "
			    "all processes",
			    prov, name, prov, name);
}

/* "99hz" for "hz:99" and "99hz"; NULL when the words are no rate. */
static const char *rate_text(struct arena *a, const struct words *f)
{
	static const char *const units[] = {"hz", "s", "ms", "us"};

	for (size_t i = 0; f->n == 3 && *f->w[2] && i < ARRAY_LEN(units); i++)
		if (strcmp(f->w[1], units[i]) == 0)
			return arena_printf(a, "%s%s", f->w[2], units[i]);
	return f->n == 2 && *f->w[1] >= '1' && *f->w[1] <= '9' ? f->w[1] : NULL;
}

static const char *hint_interval(struct arena *a, const struct words *f, const char *point)
{
	const char *rate = rate_text(a, f);

	(void)point;
	return rate ? arena_printf(a, "in D: tick-%s", rate) : NULL;
}

static const char *hint_profile(struct arena *a, const struct words *f, const char *point)
{
	const char *rate = rate_text(a, f);

	(void)point;
	return rate ? arena_printf(a, "in D: profile-%s", rate) : NULL;
}

/* The events of provider cpc that have another name there. */
static const char *event_name(struct arena *a, const char *text)
{
	static const char *const others[][2] = {
		{"branch-instructions", "branches"},
		{"cs", "context_switches"},
		{"cycles", "cpu_cycles"},
		{"faults", "page_faults"},
		{"frontend-stalls", "stalled_cycles_frontend"},
		{"backend-stalls", "stalled_cycles_backend"},
	};
	char *out;

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(others[i][0], text) == 0)
			return others[i][1];
	out = arena_strndup(a, text, strlen(text));
	for (char *p = out; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return out;
}

/*
 * For hardware:cache-misses:1000000 and software:page-faults:100. count: the period when none is
 * given.
 */
static const char *hint_event(struct arena *a, const struct words *f, const char *count)
{
	return arena_printf(
		a, "in D: cpc:::%s-all-%s, where dtrace -lP cpc lists what the machine has",
		*f->w[1] ? event_name(a, f->w[1]) : "EVENT",
		f->n > 2 && *f->w[2] ? f->w[2] : count);
}

/* "dtrace:helper:ustack:" in a script. */
static const char *hint_helper(struct arena *a, const struct words *f, const char *point)
{
	(void)point;
	return f->n > 1 && strcmp(f->w[1], "helper") == 0
		       ? "helpers stand in a file of their own (-x helper=FILE), or in an object of -G"
		       : NULL;
}

/* clang-format off */
static const struct foreign {
	const char *word, *point;
	hint_f *say;
} foreigns[] = {
	{ "dtrace",    "",       hint_helper },
	{ "fentry",    "entry",  hint_kernel },     { "fexit",     "return", hint_kernel },
	{ "h",         "1000000", hint_event },     { "hardware",  "1000000", hint_event },
	{ "interval",  "",       hint_interval },   { "i",         "",       hint_interval },
	{ "k",         "entry",  hint_kernel },     { "kfunc",     "entry",  hint_kernel },
	{ "kprobe",    "entry",  hint_kernel },     { "kr",        "return", hint_kernel },
	{ "kretfunc",  "return", hint_kernel },     { "kretprobe", "return", hint_kernel },
	{ "profile",   "",       hint_profile },    { "rawtracepoint", "",   hint_raw },
	{ "rt",        "",       hint_raw },        { "syscalls",  "",       hint_syscalls },
	{ "s",         "100",    hint_event },      { "software",  "100",    hint_event },
	{ "tick",      "",       hint_interval },   { "timer",     "",       hint_interval },
	{ "t",         "",       hint_tracepoint }, { "tracepoint", "",      hint_tracepoint },
	{ "u",         "entry",  hint_user },       { "uprobe",    "entry",  hint_user },
	{ "ur",        "return", hint_user },       { "uretprobe", "return", hint_user },
	{ "usdt",      "",       hint_usdt },
};
/* clang-format on */

const char *desc_foreign_hint(struct arena *a, const char *text)
{
	struct words f;

	text += strspn(text, ":");
	if (strncmp(text, "sys_enter_", 10) == 0 || strncmp(text, "sys_exit_", 9) == 0)
		return hint_syscalls(a, &(struct words){{"syscalls", text, "", ""}, 2}, "");
	f = words_split(a, text);
	for (size_t i = 0; f.n > 1 && i < ARRAY_LEN(foreigns); i++)
		if (strcmp(foreigns[i].word, f.w[0]) == 0)
			return foreigns[i].say(a, &f, foreigns[i].point);
	return NULL;
}

bool desc_has_path(const char *text)
{
	static const char *const words[] = {"u:", "uprobe:", "ur:", "uretprobe:", "usdt:"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

/* ---- separators ------------------------------------------------------------------------------ */

/* "shop*Order*price" for "shop::Order::price". */
static const char *colons_starred(struct arena *a, const char *from, const char *to)
{
	char *out = arena_strndup(a, from, (size_t)(to - from)), *w = out;

	for (const char *r = out; *r; r++) {
		bool is_pair = r[0] == ':' && r[1] == ':';

		*w++ = is_pair ? '*' : *r;
		r += is_pair;
	}
	*w = '\0';
	return out;
}

/* Whether the text looks like the pid provider with a process number. */
static bool is_pid_like(const char *text, size_t len)
{
	return len > 3 && strncmp(text, "pid", 3) == 0;
}

const char *desc_colons_hint(struct arena *a, const char *text, bool has_name)
{
	const char *func = text, *name = strrchr(text, ':');
	size_t provider = strcspn(text, ":");
	bool is_bare;

	if (!name || !strstr(text, "::"))
		return NULL;
	if (is_pid_like(text, provider)) { /* the function stands behind the module */
		func = text + provider + 1;
		func += strcspn(func, ":") + 1;
	}
	/*
	 * in 'shop::Order::price' without a probe name, the last field belongs to the function, too
	 */
	is_bare = !has_name || (name > text && name[-1] == ':');
	if (is_bare)
		name = text + strlen(text);
	if (func >= name || !strstr(func, "::"))
		return NULL;
	return arena_printf(a, "':' separates the fields of a description: write %.*s%s%s",
			    (int)(func - text), text, colons_starred(a, func, name),
			    is_bare && has_name ? ":entry" : name);
}
