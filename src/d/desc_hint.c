/* What a probe description of another tracer, or one with the wrong separators, is in D. */
#include "d/desc_hint.h"

#include "base/str.h"

#define FIELDS_MAX 4u

/* Fields between ':' of a description as other tracers write them; the last one holds the rest. */
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
 * The row's own text says what the words are in D; NULL: nothing comes to mind. point: "entry",
 * "return".
 */
typedef const char *say_f(struct arena *a, const struct words *f, const char *point);

static const char *say_kernel(struct arena *a, const struct words *f, const char *point)
{
	const char *func = f->w[f->n - 1];

	return arena_printf(
		a,
		"in D, kernel functions are fbt::%s:%s; this version has no provider fbt, but "
		"system calls: syscall::NAME:%s",
		func, point, point);
}

/* tracepoint:syscalls:sys_enter_openat */
static const char *say_tracepoint(struct arena *a, const struct words *f, const char *point)
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
	return "this version has no provider for tracepoints of the kernel but syscall, for system calls: "
	       "syscall::NAME:entry";
}

/* perf's spelling: syscalls:sys_enter_openat */
static const char *say_syscalls(struct arena *a, const struct words *f, const char *point)
{
	struct words full = {{"tracepoint", f->w[0], f->w[1], ""}, 3};

	return say_tracepoint(a, &full, point);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * uprobe:/bin/bash:readline; a program's own functions are in module a.out, which any name of it
 * means, too.
 */
static const char *say_user(struct arena *a, const struct words *f, const char *point)
{
	const char *module = f->n > 2 ? base_name(f->w[1]) : "a.out";
	const char *func = f->n > 1 && *f->w[f->n - 1] ? f->w[f->n - 1] : "FUNCTION";

	return arena_printf(a, "in D: pid$target:%s:%s:%s, with -p PID or -c COMMAND", module, func,
			    point);
}

static const char *say_usdt(struct arena *a, const struct words *f, const char *point)
{
	(void)point;
	return arena_printf(
		a, "in D: PROVIDER$target:::%s; this version has no probes that programs define",
		f->n > 1 ? f->w[f->n - 1] : "NAME");
}

/* "hz:99" -> "99hz"; NULL when it is no rate. */
static const char *rate_text(struct arena *a, const struct words *f)
{
	static const char *const units[] = {"hz", "s", "ms", "us"};

	for (size_t i = 0; f->n == 3 && *f->w[2] && i < ARRAY_LEN(units); i++)
		if (strcmp(f->w[1], units[i]) == 0)
			return arena_printf(a, "%s%s", f->w[2], units[i]);
	return NULL;
}

static const char *say_interval(struct arena *a, const struct words *f, const char *point)
{
	const char *rate = rate_text(a, f);

	(void)point;
	return rate ? arena_printf(a, "in D: tick-%s", rate) : NULL;
}

static const char *say_profile(struct arena *a, const struct words *f, const char *point)
{
	const char *rate = rate_text(a, f);

	(void)point;
	return rate ? arena_printf(a, "in D: profile-%s", rate) : NULL;
}

/* clang-format off */
static const struct foreign {
	const char *word, *point;
	say_f *say;
} foreigns[] = {
	{ "fentry",    "entry",  say_kernel },     { "fexit",     "return", say_kernel },
	{ "interval",  "",       say_interval },   { "i",         "",       say_interval },
	{ "k",         "entry",  say_kernel },     { "kfunc",     "entry",  say_kernel },
	{ "kprobe",    "entry",  say_kernel },     { "kr",        "return", say_kernel },
	{ "kretfunc",  "return", say_kernel },     { "kretprobe", "return", say_kernel },
	{ "profile",   "",       say_profile },    { "syscalls",  "",       say_syscalls },
	{ "t",         "",       say_tracepoint }, { "tracepoint", "",      say_tracepoint },
	{ "u",         "entry",  say_user },       { "uprobe",    "entry",  say_user },
	{ "ur",        "return", say_user },       { "uretprobe", "return", say_user },
	{ "usdt",      "",       say_usdt },
};
/* clang-format on */

const char *desc_foreign_hint(struct arena *a, const char *text)
{
	struct words f;

	text += strspn(text, ":");
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

/* "shop::Order::price" -> "shop*Order*price" */
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

/* Could the text be the name of the pid provider, with a process behind it? */
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
	if (is_pid_like(text, provider)) { /* behind the module */
		func = text + provider + 1;
		func += strcspn(func, ":") + 1;
	}
	/*
	 * 'shop::Order::price' alone: what stands behind the last one is part of the function, too
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
