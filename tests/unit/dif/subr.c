/* SPDX-License-Identifier: MIT */
/*
 * Subroutines: calls written as in D, and what they give.
 *
 * want   "text"     a string in scratch memory	    NULL, number     that value
 *        arg+N      address of the first argument + N	    KIND value       a fault
 *        -          any string: only that it works
 * numbers may be written K+n and U+n: addresses in kernel and user memory.
 */
#include "machine.h"

struct row {
	const char *call, *want;
};

static const struct {
	const char *name;
	enum dif_fault fault;
} faults[] = {
	{"BADADDR", DIF_FAULT_BADADDR},
	{"ILLOP", DIF_FAULT_ILLOP},
	{"NOSCRATCH", DIF_FAULT_NOSCRATCH},
	{"BADALIGN", DIF_FAULT_BADALIGN},
};

static uint64_t last_value; /* of the row before: R */

static uint64_t number(const char *s, char **end)
{
	if (s[0] == 'R') {
		*end = (char *)s + 1;
		return last_value;
	}
	if (s[0] == 'K' || s[0] == 'U')
		return (s[0] == 'K' ? KMEM : UMEM) +
		       (s[1] == '+' ? strtoull(s + 2, end, 0) : (*end = (char *)s + 1, 0));
	return s[0] == '-' ? (uint64_t)strtoll(s, end, 0) : strtoull(s, end, 0);
}

/* name(args) as DIF text. */
static void assemble(const char *call, struct strbuf *out)
{
	const char *p = strchr(call, '(');
	int name_len = (int)(p++ - call);

	while (*p != ')') {
		if (*p == '"') {
			const char *end = p + 1;

			while (*end != '"')
				end += *end == '\\' ? 2 : 1;
			strbuf_addf(out, "sets %.*s, %%r1\npushtr 1, %%r0, %%r1\n",
				    (int)(end + 1 - p), p);
			p = end + 1;
		} else {
			char *end;

			strbuf_addf(out, "setx 0x%llx, %%r1\npushtv 0, %%r1\n",
				    (unsigned long long)number(p, &end));
			p = end;
		}
		p += strspn(p, ", ");
	}
	strbuf_addf(out, "call %.*s, %%r2\nret %%r2\n", name_len, call);
}

/* What came out, in the notation of want. */
static void describe(struct world *w, struct dif_result r, const char *want, struct strbuf *out)
{
	char text[4096];
	uint32_t len;
	uint64_t arg = (uint64_t)(uintptr_t)w->last->strs + 1;

	if (r.fault) {
		for (size_t i = 0; i < ARRAY_LEN(faults); i++)
			if (faults[i].fault == r.fault)
				strbuf_addf(out, "%s ", faults[i].name);
		if (r.fault_value >= KMEM)
			strbuf_addf(out, "K+%llu", (unsigned long long)(r.fault_value - KMEM));
		else if (r.fault_value >= UMEM)
			strbuf_addf(out, "U+%llu", (unsigned long long)(r.fault_value - UMEM));
		else
			strbuf_addf(out, "%llu", (unsigned long long)r.fault_value);
	} else if (want[0] == '"' && dif_machine_text(w->m, r.value, text, &len)) {
		strbuf_addf(out, r.value ? "\"%s\"" : "NULL", text);
	} else if (want[0] == 'a' && r.value) {
		strbuf_addf(out, "arg+%lld", (long long)(r.value - arg));
	} else if (want[0] == '-' && !want[1]) {
		strbuf_adds(out, dif_machine_text(w->m, r.value, text, &len) ? "-" : "bad");
	} else if (r.value || want[0] != 'N') {
		strbuf_addf(out, want[1] == 'x' ? "0x%llx" : "%lld", (long long)r.value);
	} else {
		strbuf_adds(out, "NULL");
	}
}

static void run_row(struct world *w, const struct row *row)
{
	struct strbuf text = {0}, got = {0};
	struct dif_result r;

	assemble(row->call, &text);
	r = world_run(w, strbuf_text(&text));
	last_value = r.value;
	describe(w, r, row->want, &got);
	is_str(strbuf_text(&got), row->want, row->call);
	strbuf_deinit(&text);
	strbuf_deinit(&got);
}

static void fill_world(struct world *w)
{
	memcpy(w->kmem, "kernel text", 12);
	memcpy(w->umem, "user text", 10);
	memset(w->kmem + 100, 'x', KMEM_SIZE - 100);
	memset(w->umem + 100, 'y', UMEM_SIZE - 100);
	memcpy(w->kmem + 32, (uint8_t[]){192, 168, 0, 255}, 4);
	memcpy(w->kmem + KMEM_SIZE - 4, (uint8_t[]){'a', 'b', 'c', 0}, 4);
	memcpy(w->umem + UMEM_SIZE - 3, "de", 3);
}

/* Every row in a firing of its own. */
static void run_rows(const struct row *rows, size_t n, uint32_t strsize)
{
	struct dif_machine_opts opts = {.strsize = strsize};
	struct world w;

	world_init(&w, &opts);
	fill_world(&w);
	for (size_t i = 0; i < n; i++) {
		dif_machine_begin_firing(w.m, 1);
		run_row(&w, &rows[i]);
	}
	world_deinit(&w);
}

static const struct row strings[] = {
	{"strlen(\"\")", "0"},
	{"strlen(\"a\")", "1"},
	{"strlen(\"hello\\x80\\xff\")", "7"},
	{"strlen(0)", "BADADDR 0"},
	{"strlen(1)", "BADADDR 1"},
	{"strlen(K)", "11"},
	{"strlen(K+7)", "4"},
	{"strlen(K+100)", "255"},
	{"strlen(K+508)", "3"},
	{"strlen(K+511)", "0"},
	{"strlen(K+512)", "BADADDR K+512"},
	{"strlen(U)", "BADADDR U+0"},
	{"strlen()", "ILLOP 0"},
	{"strlen(\"a\", \"b\")", "ILLOP 0"},

	{"strjoin(\"foo\", \"bar\")", "\"foobar\""},
	{"strjoin(\"\", \"bar\")", "\"bar\""},
	{"strjoin(\"foo\", \"\")", "\"foo\""},
	{"strjoin(\"\", \"\")", "\"\""},
	{"strjoin(0, \"bar\")", "BADADDR 0"},
	{"strjoin(\"foo\", 0)", "BADADDR 0"},
	{"strjoin(5, 6)", "BADADDR 5"},
	{"strjoin(K, \"!\")", "\"kernel text!\""},
	{"strjoin(\"a\")", "ILLOP 0"},

	{"substr(\"abcdef\", 0)", "\"abcdef\""},
	{"substr(\"abcdef\", 2)", "\"cdef\""},
	{"substr(\"abcdef\", 5)", "\"f\""},
	{"substr(\"abcdef\", 6)", "\"\""},
	{"substr(\"abcdef\", 600)", "\"\""},
	{"substr(\"abcdef\", -1)", "\"f\""},
	{"substr(\"abcdef\", -6)", "\"abcdef\""},
	{"substr(\"abcdef\", -7)", "\"abcdef\""},
	{"substr(\"abcdef\", -700)", "\"abcdef\""},
	{"substr(\"abcdef\", 0, 3)", "\"abc\""},
	{"substr(\"abcdef\", 0, 0)", "\"\""},
	{"substr(\"abcdef\", 3, 100)", "\"def\""},
	{"substr(\"abcdef\", 1, 0x7fffffffffffffff)", "\"bcdef\""},
	{"substr(\"abcdef\", 0, -1)", "\"abcde\""},
	{"substr(\"abcdef\", 2, -2)", "\"cd\""},
	{"substr(\"abcdef\", 2, -4)", "\"\""},
	{"substr(\"abcdef\", 2, -5)", "\"\""},
	{"substr(\"abcdef\", -3, 2)", "\"de\""},
	{"substr(\"abcdef\", -3, -1)", "\"de\""},
	{"substr(\"abcdef\", -8, 3)", "\"a\""},
	{"substr(\"abcdef\", -8, 2)", "\"\""},
	{"substr(\"abcdef\", -8, 1)", "\"\""},
	{"substr(\"abcdef\", -8, 0)", "\"\""},
	{"substr(\"abcdef\", -8, -1)", "\"\""},
	{"substr(\"abcdef\", -8, 100)", "\"abcdef\""},
	{"substr(\"abc\", -5)", "\"abc\""},
	{"substr(\"abc\", -5, 3)", "\"a\""},
	{"substr(\"abc\", 0, -3)", "\"\""},
	/* an omitted length is INT64_MAX, and is shortened like any other */
	{"substr(\"abc\", -9223372036854775807)", "\"abc\""},
	{"substr(\"abc\", 0x8000000000000000)", "\"ab\""},
	{"substr(\"abc\", 0x8000000000000000, 0x8000000000000000)", "\"\""},
	{"substr(\"abc\", 1, 0x8000000000000000)", "\"\""},
	{"substr(\"\", 0)", "\"\""},
	{"substr(\"\", -1)", "\"\""},
	{"substr(\"\", 0, 5)", "\"\""},
	{"substr(0, 0)", "BADADDR 0"},
	{"substr(\"abc\")", "ILLOP 0"},

	{"index(\"foobarbaz\", \"ba\")", "3"},
	{"index(\"foobarbaz\", \"ba\", 3)", "3"},
	{"index(\"foobarbaz\", \"ba\", 4)", "6"},
	{"index(\"foobarbaz\", \"ba\", 7)", "-1"},
	{"index(\"foobarbaz\", \"ba\", -5)", "3"},
	{"index(\"foobarbaz\", \"ba\", 1000)", "-1"},
	{"index(\"foobarbaz\", \"z\")", "8"},
	{"index(\"foobarbaz\", \"q\")", "-1"},
	{"index(\"foo\", \"foobar\")", "-1"},
	{"index(\"foo\", \"foo\")", "0"},
	{"index(\"foo\", \"\")", "0"},
	{"index(\"foo\", \"\", 2)", "2"},
	{"index(\"foo\", \"\", 3)", "3"},
	{"index(\"foo\", \"\", 9)", "3"},
	{"index(\"foo\", \"\", -9)", "0"},
	{"index(\"\", \"\")", "0"},
	{"index(\"\", \"\", 4)", "0"},
	{"index(\"\", \"a\")", "-1"},
	{"index(0, \"a\")", "BADADDR 0"},
	{"index(\"a\", 0)", "BADADDR 0"},
	{"index(\"a\")", "ILLOP 0"},

	{"rindex(\"foobarbaz\", \"ba\")", "6"},
	{"rindex(\"foobarbaz\", \"ba\", 6)", "6"},
	{"rindex(\"foobarbaz\", \"ba\", 5)", "3"},
	{"rindex(\"foobarbaz\", \"ba\", 2)", "-1"},
	{"rindex(\"foobarbaz\", \"ba\", -1)", "-1"},
	{"rindex(\"foobarbaz\", \"ba\", 1000)", "6"},
	{"rindex(\"foobarbaz\", \"z\")", "8"},
	{"rindex(\"foobarbaz\", \"q\")", "-1"},
	{"rindex(\"foo\", \"foobar\")", "-1"},
	{"rindex(\"foo\", \"foo\")", "0"},
	{"rindex(\"foo\", \"\")", "3"},
	{"rindex(\"foo\", \"\", 2)", "2"},
	{"rindex(\"foo\", \"\", 9)", "3"},
	{"rindex(\"foo\", \"\", 0)", "0"},
	{"rindex(\"foo\", \"\", -1)", "0"},
	{"rindex(\"\", \"\")", "0"},
	{"rindex(\"abab\", \"ab\", 1)", "0"},
	{"rindex(7, \"a\")", "BADADDR 7"},

	{"strstr(\"foobar\", \"ob\")", "arg+2"},
	{"strstr(\"foobar\", \"foobar\")", "arg+0"},
	{"strstr(\"foobar\", \"r\")", "arg+5"},
	{"strstr(\"foobar\", \"\")", "arg+0"},
	{"strstr(\"foobar\", \"x\")", "NULL"},
	{"strstr(\"foo\", \"foobar\")", "NULL"},
	{"strstr(\"\", \"x\")", "NULL"},
	{"strstr(\"x\", 0)", "BADADDR 0"},
	{"strstr(0, \"x\")", "BADADDR 0"},
	{"strstr(K, \"text\")", "\"text\""},

	{"strchr(\"hello\", 0x6c)", "arg+2"},
	{"strchr(\"hello\", 0x1006c)", "arg+2"},
	{"strchr(\"hello\", 0x68)", "arg+0"},
	{"strchr(\"hello\", 0x78)", "NULL"},
	{"strchr(\"hello\", 0)", "arg+5"},
	{"strchr(\"h\\xe9\", -23)", "arg+1"},
	{"strchr(0, 65)", "BADADDR 0"},
	{"strrchr(\"hello\", 0x6c)", "arg+3"},
	{"strrchr(\"hello\", 0x68)", "arg+0"},
	{"strrchr(\"hello\", 0x78)", "NULL"},
	{"strrchr(\"hello\", 0)", "arg+5"},
	{"strrchr(3, 65)", "BADADDR 3"},

	{"tolower(\"Hello WORLD @[`{\\xc9\")", "\"hello world @[`{\xc9\""},
	{"toupper(\"Hello world @[`{\\xe9\")", "\"HELLO WORLD @[`{\xe9\""},
	{"tolower(\"\")", "\"\""},
	{"toupper(\"azAZ\")", "\"AZAZ\""},
	{"tolower(\"azAZ\")", "\"azaz\""},
	{"toupper(0)", "BADADDR 0"},
};

static const struct row paths[] = {
	{"basename(\"\")", "\".\""},
	{"basename(\"/\")", "\"/\""},
	{"basename(\"//\")", "\"/\""},
	{"basename(\"a\")", "\"a\""},
	{"basename(\"a/\")", "\"a\""},
	{"basename(\"a//\")", "\"a\""},
	{"basename(\"/a\")", "\"a\""},
	{"basename(\"//a\")", "\"a\""},
	{"basename(\"/a/\")", "\"a\""},
	{"basename(\"/usr/lib/libc.so\")", "\"libc.so\""},
	{"basename(\"usr//lib///\")", "\"lib\""},
	{"basename(\".\")", "\".\""},
	{"basename(\"/..\")", "\"..\""},
	{"basename(0)", "BADADDR 0"},

	{"dirname(\"\")", "\".\""},
	{"dirname(\"/\")", "\"/\""},
	{"dirname(\"//\")", "\"/\""},
	{"dirname(\"a\")", "\".\""},
	{"dirname(\"a/\")", "\".\""},
	{"dirname(\"a//\")", "\".\""},
	{"dirname(\"/a\")", "\"/\""},
	{"dirname(\"//a\")", "\"/\""},
	{"dirname(\"/a/\")", "\"/\""},
	{"dirname(\"a/b\")", "\"a\""},
	{"dirname(\"a/b/\")", "\"a\""},
	{"dirname(\"a//b\")", "\"a\""},
	{"dirname(\"/a//b/\")", "\"/a\""},
	{"dirname(\"/usr/lib/libc.so\")", "\"/usr/lib\""},
	{"dirname(\".\")", "\".\""},
	{"dirname(\"..\")", "\".\""},
	{"dirname(0)", "BADADDR 0"},

	{"cleanpath(\"\")", "\"\""},
	{"cleanpath(\"/\")", "\"/\""},
	{"cleanpath(\"//\")", "\"/\""},
	{"cleanpath(\"/foo/bar/baz\")", "\"/foo/bar/baz\""},
	{"cleanpath(\"/foo/bar///baz/\")", "\"/foo/bar/baz/\""},
	{"cleanpath(\"/foo/bar/baz/\")", "\"/foo/bar/baz/\""},
	{"cleanpath(\"/foo/bar/baz//\")", "\"/foo/bar/baz/\""},
	{"cleanpath(\"/foo/bar/baz/.\")", "\"/foo/bar/baz/.\""},
	{"cleanpath(\"/foo/bar/baz/./\")", "\"/foo/bar/baz/\""},
	{"cleanpath(\"/foo/bar/../../baz/.\")", "\"/baz/.\""},
	{"cleanpath(\"foo/bar/./././././baz\")", "\"foo/bar/baz\""},
	{"cleanpath(\"/foo/bar/baz/../../../../../../\")", "\"/\""},
	{"cleanpath(\"/../../../../../../\")", "\"/\""},
	{"cleanpath(\"/./\")", "\"/\""},
	{"cleanpath(\"/foo/bar/baz/../../bop/bang/../../bar/baz/\")", "\"/foo/bar/baz/\""},
	{"cleanpath(\"./\")", "\"./\""},
	{"cleanpath(\".\")", "\".\""},
	{"cleanpath(\"..\")", "\"..\""},
	{"cleanpath(\"../\")", "\"../\""},
	{"cleanpath(\"../../x\")", "\"../../x\""},
	{"cleanpath(\"../../x/..\")", "\"../../\""},
	{"cleanpath(\"a/..\")", "\".\""},
	{"cleanpath(\"a/../\")", "\".\""},
	{"cleanpath(\"a/../b\")", "\"b\""},
	{"cleanpath(\"a/../..\")", "\"..\""},
	{"cleanpath(\"a/../../b\")", "\"../b\""},
	{"cleanpath(\"./a\")", "\"./a\""},
	{"cleanpath(\"./../a\")", "\"./../a\""},
	{"cleanpath(\"./a/../../b\")", "\"./../b\""},
	{"cleanpath(\"/a/b/..\")", "\"/a/\""},
	{"cleanpath(\"/a/..\")", "\"/\""},
	{"cleanpath(\"/..\")", "\"/\""},
	{"cleanpath(\"/../a\")", "\"/a\""},
	{"cleanpath(\"/.\")", "\"/.\""},
	{"cleanpath(\"/a/...\")", "\"/a/...\""},
	{"cleanpath(\"/a/..b/.c/d.\")", "\"/a/..b/.c/d.\""},
	{"cleanpath(\"a\")", "\"a\""},
	{"cleanpath(0)", "BADADDR 0"},
};

static const struct row numbers[] = {
	{"lltostr(0)", "\"0\""},
	{"lltostr(1)", "\"1\""},
	{"lltostr(-1)", "\"-1\""},
	{"lltostr(1234567890123)", "\"1234567890123\""},
	{"lltostr(0x7fffffffffffffff)", "\"9223372036854775807\""},
	{"lltostr(0x8000000000000000)", "\"-9223372036854775808\""},
	{"lltostr(-1, 10)", "\"-1\""},
	{"lltostr(0, 16)", "\"0x0\""},
	{"lltostr(255, 16)", "\"0xff\""},
	{"lltostr(-1, 16)", "\"0xffffffffffffffff\""},
	{"lltostr(0, 8)", "\"0\""},
	{"lltostr(8, 8)", "\"010\""},
	{"lltostr(-1, 8)", "\"01777777777777777777777\""},
	{"lltostr(5, 2)", "\"101\""},
	{"lltostr(0, 2)", "\"0\""},
	{"lltostr(-1, 2)", "\"1111111111111111111111111111111111111111111111111111111111111111\""},
	{"lltostr(35, 36)", "\"z\""},
	{"lltostr(36, 36)", "\"10\""},
	{"lltostr(1, 1)", "ILLOP 0"},
	{"lltostr(1, 0)", "ILLOP 0"},
	{"lltostr(1, 37)", "ILLOP 0"},
	{"lltostr(1, -10)", "ILLOP 0"},

	{"strerrno(2)", "\"ENOENT\""},
	{"strerrno(-2)", "\"ENOENT\""},
	{"strerrno(131)", "\"ENOTRECOVERABLE\""},
	{"strerrno(0)", "\"0\""},
	{"strerrno(58)", "\"58\""},
	{"strerrno(134)", "\"134\""},
	{"strerrno(-134)", "\"-134\""},
	{"strerror(13)", "\"Permission denied\""},
	{"strerror(134)", "\"134\""},
	{"strsignal(9)", "\"SIGKILL\""},
	{"strsignal(64)", "\"SIGRTMIN+30\""},
	{"strsignal(65)", "\"65\""},
	{"strflags(20, 0x241)", "\"O_WRONLY|O_CREAT|O_TRUNC\""},
	{"strflags(20, 0)", "\"O_RDONLY\""},
	{"strflags(20, 0x80000003)", "\"0x80000003\""},
	{"strflags(20, 0xf00000002)", "\"O_RDWR\""},
	{"strflags(0, 0)", "\"0\""},
	{"strflags(0, 0xab)", "\"0xab\""},
	{"strflags(0xffff, 0)", "ILLOP 0"},
	{"strflags(0x100000001, 0)", "ILLOP 0"},

	{"strtoll(\"0\")", "0"},
	{"strtoll(\"123\")", "123"},
	{"strtoll(\"-123\")", "-123"},
	{"strtoll(\"+7\")", "7"},
	{"strtoll(\" \\t\\n\\x0b\\x0c\\x0d 7x\")", "7"},
	{"strtoll(\"\")", "0"},
	{"strtoll(\"-\")", "0"},
	{"strtoll(\"- 5\")", "0"},
	{"strtoll(\"--5\")", "0"},
	{"strtoll(\"abc\")", "0"},
	{"strtoll(\"12abc\")", "12"},
	{"strtoll(\"0x1f\")", "0"},
	{"strtoll(\"0x1f\", 16)", "31"},
	{"strtoll(\"-0X1F\", 16)", "-31"},
	{"strtoll(\"1f\", 16)", "31"},
	{"strtoll(\"0x\", 16)", "0"},
	{"strtoll(\"0xg\", 16)", "0"},
	{"strtoll(\"x1\", 16)", "0"},
	{"strtoll(\"777\", 8)", "511"},
	{"strtoll(\"789\", 8)", "7"},
	{"strtoll(\"102\", 2)", "2"},
	{"strtoll(\"zZ\", 36)", "1295"},
	{"strtoll(\"9223372036854775807\")", "9223372036854775807"},
	{"strtoll(\"-9223372036854775808\")", "-9223372036854775808"},
	{"strtoll(\"18446744073709551616\")", "0"},
	{"strtoll(\"18446744073709551617\")", "1"},
	{"strtoll(\"1\", 1)", "ILLOP 0"},
	{"strtoll(\"1\", 37)", "ILLOP 0"},
	{"strtoll(0, 37)", "BADADDR 0"},
	{"strtoll(0)", "BADADDR 0"},

	{"rand()", "0x7edcba98"},
	{"sample(4000, 1000000)", "0"}, /* the distance for this number is 4460 */
	{"sample(5000, 1000000)", "1"},
	{"sample(0, 0)", "0"},
	{"sample(1, 0)", "1"},
	{"sampled(1)", "1"},
	{"followed(0)", "1"},
	{"htons(0x11223344)", "0x4433"},
	{"ntohs(-2)", "0xfeff"},
	{"htonl(0x5511223344)", "0x44332211"},
	{"ntohl(0x80)", "0x80000000"},
	{"htonll(0x1122334455667788)", "0x8877665544332211"},
	{"ntohll(1)", "0x100000000000000"},
	{"getmajor(0x800001)", "8"},
	{"getminor(0x800001)", "1"},
	{"getmajor(-1)", "4095"},
	{"getminor(-1)", "1048575"},
	{"progenyof(1)", "1"},
	{"progenyof(42)", "1"},
	{"progenyof(43)", "0"},
	{"progenyof(0x10000002a)", "1"},

	{"memstr(K+32, 45, 0)", "0"},
	{"memstr(K+32, 45, 4097)", "ILLOP 0"},
	{"memstr(K+509, 45, 4)", "BADADDR K+509"},
	{"memstr(\"abc\", 45, 3)", "\"ab\""},
	{"memstr(\"abc\", 45, 4)", "\"abc\""},
	{"memstr(\"abc\", 0x12d, 1)", "\"\""},

	{"inet_ntoa(K+32)", "\"192.168.0.255\""},
	{"inet_ntoa(K+31)", "\"0.192.168.0\""},
	{"inet_ntoa(K+509)", "BADADDR K+509"},
	{"inet_ntoa(0)", "BADADDR 0"},
	{"inet_ntop(2, K+32)", "\"192.168.0.255\""},
	{"inet_ntop(2, 9)", "BADADDR 9"},
	{"inet_ntop(10, 9)", "BADADDR 9"},
	{"inet_ntop(0, 9)", "ILLOP 0"},
	{"inet_ntop(0x100000002, K+32)", "ILLOP 0"},
	{"link_ntop(1, K)", "\"6b:65:72:6e:65:6c\""},
	{"link_ntop(32, K+100)", "\"78:78:78:78:78:78:78:78:78:78:78:78:78:78:78:78:78:78:78:78\""},
	{"link_ntop(1, 9)", "BADADDR 9"},
	{"link_ntop(2, 9)", "ILLOP 0"},
	{"link_ntop(0x100000001, K)", "ILLOP 0"},
	{"inet_ntoa6(K+500)", "BADADDR K+500"},

	{"mutex_owned(K)", "ILLOP 0"},
	{"memref(K, 1)", "-"},
	{"memref(K)", "ILLOP 0"},
	{"speculation()", "ILLOP 0"},
};

static const struct row memory[] = {
	{"copyinstr(U)", "\"user text\""},
	{"copyinstr(U, 4)", "\"user\""},
	{"copyinstr(U, 0)", "\"\""},
	{"copyinstr(U, -1)", "\"user text\""},
	{"copyinstr(U, 1000000)", "\"user text\""},
	{"copyinstr(U+509)", "\"de\""},
	{"copyinstr(U+509, 2)", "\"de\""},
	{"copyinstr(U+508)", "\"yde\""},
	{"copyinstr(U+512)", "BADADDR U+512"},
	{"copyinstr(U+512, 0)", "BADADDR U+512"},
	{"copyinstr(0)", "BADADDR 0"},
	{"copyinstr(K)", "BADADDR K+0"},
	{"copyin(U, 10)", "\"user text\""},
	{"copyin(U+502, 10)", "-"},
	{"copyin(U+503, 10)", "BADADDR U+503"},
	{"copyin(0, 1)", "BADADDR 0"},
	{"copyin(0, 0)", "-"},
	{"copyin(U, 1048577)", "NOSCRATCH 0"},
	{"copyin(U, -1)", "NOSCRATCH 0"},
	{"copyin(U, -8)", "NOSCRATCH 0"},
	{"copyin(5, 65527)", "BADADDR 5"},
	{"copyin(5, 65528)", "NOSCRATCH 0"},
	{"alloca(65528)", "-"},
	{"alloca(65529)", "NOSCRATCH 0"},
	{"alloca(-8)", "NOSCRATCH 0"},
	{"alloca(-1)", "NOSCRATCH 0"},
	{"alloca(1)", "-"},
	{"bcopy(K, K, 4)", "BADADDR K+0"},
	{"bcopy(K, K, 0)", "0"},
	{"bcopy(9, 8, 1)", "BADADDR 8"},
	{"copyinint(U, 7)", "1919251317"},
	{"copyinint(5, 7)", "7"},
	{"copyinint(5, -7)", "-7"},
	{"copyinto(U, 4, U)", "BADADDR U+0"},
	{"copyinto(U, 0, 4)", "0"},
	{"copyin(U)", "ILLOP 0"},
	{"bcopy(U, U)", "ILLOP 0"},
};

#define DOC                                                                                        \
	"\"{\\\"a\\\": 1, \\\"s\\\":\\\"x\\\\\\\"y,}\\\" , "                                       \
	"\\\"o\\\":{\\\"p\\\":[10,[20,{\\\"q\\\":true}],\\\"z\\\"]},"                              \
	"\\\"e\\\":\\\"\\\",\\\"n\\\":null, \\\"a\\\":2, \\\"k.k\\\":3 }\""

static const struct row jsons[] = {
	{"json(" DOC ", \"a\")", "\"1\""},
	{"json(" DOC ", \"s\")", "\"x\\\"y,}\""},
	{"json(" DOC ", \"o\")", "\"{\"p\":[10,[20,{\"q\":true}],\"z\"]}\""},
	{"json(" DOC ", \"o.p\")", "\"[10,[20,{\"q\":true}],\"z\"]\""},
	{"json(" DOC ", \"o.p[0]\")", "\"10\""},
	{"json(" DOC ", \"o.p[1][0]\")", "\"20\""},
	{"json(" DOC ", \"o.p[1][1].q\")", "\"true\""},
	{"json(" DOC ", \"o.p[2]\")", "\"z\""},
	{"json(" DOC ", \"o.p.2\")", "\"z\""},
	{"json(" DOC ", \"o.p[002]\")", "\"z\""},
	{"json(" DOC ", \"o.p[3]\")", "NULL"},
	{"json(" DOC ", \"o.p[-1]\")", "NULL"},
	{"json(" DOC ", \"o.p[x]\")", "NULL"},
	{"json(" DOC ", \"o.p[0000000000]\")", "NULL"},
	{"json(" DOC ", \"o.p[000000000]\")", "\"10\""},
	{"json(" DOC ", \"e\")", "\"\""},
	{"json(" DOC ", \"n\")", "\"null\""},
	{"json(" DOC ", \"k.k\")", "NULL"},
	{"json(" DOC ", \"b\")", "NULL"},
	{"json(" DOC ", \"a.b\")", "NULL"},
	{"json(" DOC ", \"s.b\")", "NULL"},
	{"json(" DOC ", \"\")", "NULL"},
	{"json(" DOC ", \"..\")", "NULL"},
	{"json(" DOC ", \".a\")", "\"1\""},
	{"json(\"[1,2]\", \"[1]\")", "\"2\""},
	{"json(\"  [ 1 , 2 ] \", \"1\")", "\"2\""},
	{"json(\"[1,]\", \"1\")", "NULL"},
	{"json(\"[]\", \"0\")", "NULL"},
	{"json(\"{}\", \"a\")", "NULL"},
	{"json(\"\", \"a\")", "NULL"},
	{"json(\"5\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\" 1}\", \"a\")", "NULL"},
	{"json(\"{a:1}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":}\", \"a\")", "NULL"},
	/* a text that may have been cut within the word that is sought, and what is no JSON */
	{"json(\"{\\\"a\\\":1\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":1,\", \"a\")", "\"1\""},
	{"json(\"{\\\"a\\\":1 \", \"a\")", "\"1\""},
	{"json(\"{\\\"a\\\":tru\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":true\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":\\\"x\\\"\", \"a\")", "\"x\""},
	{"json(\"{\\\"a\\\":[1]\", \"a\")", "\"[1]\""},
	{"json(\"{\\\"a\\\":tru}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":truer}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":None}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":'x'}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":1 2}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":\\\"x\\\" \\\"y\\\"}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":1]\", \"a\")", "NULL"},
	{"json(\"[1}\", \"0\")", "NULL"},
	{"json(\"{\\\"b\\\":[1},\\\"a\\\":2}\", \"a\")", "NULL"},
	{"json(\"{\\\"b\\\":1.2.3,\\\"a\\\":2}\", \"a\")", "NULL"},
	{"json(\"[-0.5e+10,0]\", \"0\")", "\"-0.5e+10\""},
	{"json(\"[0,1E5]\", \"1\")", "\"1E5\""},
	{"json(\"[1.5]\", \"0\")", "\"1.5\""},
	{"json(\"[-0]\", \"0\")", "\"-0\""},
	{"json(\"[20]\", \"0\")", "\"20\""},
	{"json(\"[01]\", \"0\")", "NULL"},
	{"json(\"[1.]\", \"0\")", "NULL"},
	{"json(\"[.5]\", \"0\")", "NULL"},
	{"json(\"[-]\", \"0\")", "NULL"},
	{"json(\"[1e]\", \"0\")", "NULL"},
	{"json(\"[1e+]\", \"0\")", "NULL"},
	{"json(\"[+1]\", \"0\")", "NULL"},
	{"json(\"[0x10]\", \"0\")", "NULL"},
	{"json(\"[1-2]\", \"0\")", "NULL"},
	{"json(\"[1.5e3.2]\", \"0\")", "NULL"},
	{"json(\"[false]\", \"0\")", "\"false\""},
	{"json(\"[null,1]\", \"1\")", "\"1\""},
	{"json(\"{\\\"b\\\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]],\\\"a\\\":1}\", \"a\")",
	 "\"1\""},
	{"json(\"{\\\"b\\\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]],\\\"a\\\":1}\", \"a\")",
	 "NULL"},
	{"json(\"{\\\"a\\\":\\\"1\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":\\\"1\\\\\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":[1\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":[1\", \"a[0]\")", "NULL"},
	{"json(\"{\\\"a\\\":[1,\", \"a[0]\")", "\"1\""},
	{"json(\"{\\\"b\\\":[}},\\\"a\\\":4\", \"a\")", "NULL"},
	{"json(\"{\\\"b\\\":[},\\\"a\\\":4}\", \"a\")", "NULL"},
	{"json(\"{\\\"b\\\":[{}],\\\"a\\\":4}\", \"a\")", "\"4\""},
	{"json(\"{\\\"b\\\":1 \\\"a\\\":4}\", \"a\")", "NULL"},
	{"json(0, \"a\")", "BADADDR 0"},
	{"json(\"{}\", 0)", "BADADDR 0"},
};

/* strsize 8: at most 7 characters. */
static const struct row cut[] = {
	{"strlen(\"123456\")", "6"},
	{"strlen(\"1234567\")", "7"},
	{"strlen(\"12345678\")", "7"},
	{"strlen(\"123456789\")", "7"},
	{"strlen(K+100)", "7"},
	{"strjoin(\"1234\", \"567\")", "\"1234567\""},
	{"strjoin(\"1234\", \"5678\")", "\"1234567\""},
	{"strjoin(\"12345678\", \"x\")", "\"1234567\""},
	{"substr(\"123456789\", -1)", "\"7\""},
	{"index(\"123456789\", \"8\")", "-1"},
	{"index(\"123456789\", \"7\")", "6"},
	{"rindex(\"123456789\", \"\")", "7"},
	{"strchr(\"123456789\", 56)", "NULL"},
	{"strchr(\"123456789\", 0)", "arg+7"},
	{"strrchr(\"123456789\", 0)", "arg+7"},
	{"basename(\"/a/b/cd/ef\")", "\"cd\""},
	{"dirname(\"/a/b/cd/ef\")", "\"/a/b\""},
	{"cleanpath(\"/a/b/../c\")", "\"/a/\""},
	{"cleanpath(\"/a/bc/..\")", "\"/a/bc/.\""},
	{"lltostr(-123456)", "\"-123456\""},
	{"lltostr(-1234567)", "\"-123456\""},
	{"lltostr(12345678)", "\"1234567\""},
	{"lltostr(0x1234567, 16)", "\"0x12345\""},
	{"strtoll(\"123456789\")", "1234567"},
	{"inet_ntoa(K+32)", "\"192.168\""},
	{"copyinstr(U)", "\"user te\""},
	{"copyinstr(U, 7)", "\"user te\""},
	{"copyinstr(U, 6)", "\"user t\""},
	{"copyinstr(U+100)", "\"yyyyyyy\""},
	{"toupper(\"abcdefghi\")", "\"ABCDEFG\""},
	{"json(\"{\\\"a\\\":123}\", \"a\")", "NULL"},
	{"json(\"{\\\"a\\\":1}\", \"a\")", "\"1\""},
};

struct ip6 {
	uint16_t groups[8];
	const char *ntoa6, *strict, *ntop;
};

static const struct ip6 ip6s[] = {
	{{0}, "::", "::", "::"},
	{{0, 0, 0, 0, 0, 0, 0, 1}, "::1", "::1", "::1"},
	{{0, 0, 0, 0, 0, 0, 0, 2}, "0.0.0.2", "0.0.0.2", "::0.0.0.2"},
	{{0, 0, 0, 0, 0, 0, 0x102, 0x304}, "1.2.3.4", "1.2.3.4", "::1.2.3.4"},
	{{0, 0, 0, 0, 0, 0xffff, 0x102, 0x304}, "1.2.3.4", "1.2.3.4", "::ffff:1.2.3.4"},
	{{0, 0, 0, 0, 0, 0xffff, 0, 0}, "0.0.0.0", "0.0.0.0", "::ffff:0.0.0.0"},
	{{0, 0, 0, 0, 1, 0xffff, 0x102, 0x304},
	 "::1:ffff:102:304",
	 "::1:ffff:102:304",
	 "::1:ffff:102:304"},
	{{0xfe80, 0, 0, 0, 0x214, 0x4fff, 0xfe0b, 0x76c8},
	 "fe80::214:4fff:fe0b:76c8",
	 "fe80::214:4fff:fe0b:76c8",
	 "fe80::214:4fff:fe0b:76c8"},
	{{1, 0, 2, 3, 4, 5, 6, 7}, "1::2:3:4:5:6:7", "1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
	{{0, 1, 2, 3, 4, 5, 6, 7}, "::1:2:3:4:5:6:7", "0:1:2:3:4:5:6:7", "0:1:2:3:4:5:6:7"},
	{{1, 2, 3, 4, 5, 6, 7, 0}, "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"},
	{{1, 2, 3, 4, 5, 6, 7, 8}, "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
	{{1, 0, 0, 2, 0, 0, 0, 3}, "1:0:0:2::3", "1:0:0:2::3", "1:0:0:2::3"},
	{{1, 0, 0, 2, 0, 0, 3, 4}, "1::2:0:0:3:4", "1::2:0:0:3:4", "1::2:0:0:3:4"},
	{{0x2001, 0xdb8, 0, 0, 0, 0, 0, 0}, "2001:db8::", "2001:db8::", "2001:db8::"},
	{{0, 0, 3, 0, 0, 0, 0, 0xabcd}, "0:0:3::abcd", "0:0:3::abcd", "0:0:3::abcd"},
	{{1, 0, 0, 0, 0, 0, 0, 1}, "1::1", "1::1", "1::1"},
};

static void test_ip6(void)
{
	struct world w;

	world_init(&w, NULL);
	for (size_t i = 0; i < ARRAY_LEN(ip6s); i++) {
		const char *quoted[] = {arena_printf(w.arena, "\"%s\"", ip6s[i].ntoa6),
					arena_printf(w.arena, "\"%s\"", ip6s[i].strict),
					arena_printf(w.arena, "\"%s\"", ip6s[i].ntop)};

		for (int g = 0; g < 8; g++) {
			w.kmem[2 * g] = (uint8_t)(ip6s[i].groups[g] >> 8);
			w.kmem[2 * g + 1] = (uint8_t)ip6s[i].groups[g];
		}
		dif_machine_begin_clause(w.m);
		run_row(&w, &(struct row){"inet_ntoa6(K)", quoted[1]});
		run_row(&w, &(struct row){"inet_ntoa6(K, 0)", quoted[0]});
		run_row(&w, &(struct row){"inet_ntoa6(K, 1)", quoted[1]});
		run_row(&w, &(struct row){"inet_ntop(10, K)", quoted[2]});
	}
	world_deinit(&w);
}

/* One machine. A row without a call begins another clause, or another firing. */
/* clang-format off */
#define NEXT_CLAUSE {NULL, NULL}
/* clang-format on */
#define NEXT_FIRING                                                                                \
	{                                                                                          \
		NULL, "firing"                                                                     \
	}
static const struct row tokens[] = {
	{"strtok(0, \",\")", "BADADDR 0"}, /* there is no text to go on with */
	{"strtok(0, 5)", "BADADDR 0"},
	{"strtok(\",a,,bc,\", \",\")", "\"a\""},
	{"strtok(0, \",\")", "\"bc\""},
	{"strtok(0, \",\")", "NULL"},
	{"strtok(0, 5)", "NULL"}, /* nothing left: delimiters are not looked at */
	{"strtok(\"a b;c\", \" \")", "\"a\""},
	{"strtok(0, \";\")", "\"b\""},
	{"strtok(0, \"\")", "\"c\""},
	{"strtok(0, \"\")", "NULL"},
	{"strtok(\"abc\", \"\")", "\"abc\""},
	{"strtok(0, \"\")", "NULL"},
	{"strtok(\"\", \"\")", "NULL"},
	{"strtok(\",,,\", \",\")", "NULL"},
	{"strtok(\"x=y\", \"=\")", "\"x\""},
	NEXT_FIRING,
	{"strtok(0, \"=\")", "BADADDR 0"},
	{"strtok(\"x=y=z\", \"=\")", "\"x\""},
	NEXT_CLAUSE,
	{"strtok(0, \"=\")", "\"y\""},
	NEXT_CLAUSE,
	{"strtok(0, \"=\")", "\"z\""},
	NEXT_CLAUSE,
	{"strtok(0, \"=\")", "NULL"},
	/* a text in scratch memory, which the next clause hands out again */
	{"strjoin(\"x=y\", \"=z=\")", "\"x=y=z=\""},
	{"strtok(R, \"=\")", "\"x\""},
	NEXT_CLAUSE,
	{"strjoin(\"------------\", \"------------\")", "\"------------------------\""},
	{"strtok(0, \"=\")", "\"y\""},
	NEXT_CLAUSE,
	{"strjoin(\"------------\", \"------------\")", "\"------------------------\""},
	{"strtok(0, \"=\")", "\"z\""},
	{"strtok(0, \"=\")", "NULL"},
	/*
	 * as in C: what ends a token is no part of what follows, delimiters before it are skipped
	 */
	{"strtok(\"k=v;\", \"=\")", "\"k\""},
	{"strtok(0, \";\")", "\"v\""},
	{"strtok(\"k=;v\", \"=\")", "\"k\""},
	{"strtok(0, \";\")", "\"v\""},
	{"strtok(\"x=y\", \"=\")", "\"x\""},
	{"strtok(0, 8)", "BADADDR 8"}, /* forgets */
	{"strtok(0, \"=\")", "NULL"},
	{"strtok(7, 8)", "BADADDR 7"},
	{"strtok(\"x\", 8)", "BADADDR 8"},
	{"strtok(\"one,two\", \",\")", "\"one\""},
	{"strtok(\"new one\", \" \")", "\"new\""},
	{"strtok(0, \" \")", "\"one\""},
	{"strtok(\"a,\", \",\")", "\"a\""},
	{"strtok(0, \",\")", "NULL"},
};

static void test_tokens(void)
{
	struct world w;

	world_init(&w, NULL);
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
		if (tokens[i].call)
			run_row(&w, &tokens[i]);
		else if (tokens[i].want)
			dif_machine_begin_firing(w.m, 1);
		else
			dif_machine_begin_clause(w.m);
	world_deinit(&w);
}

/* Each string result takes strsize bytes, rounded up to 8. */
static void test_scratch(void)
{
	struct dif_machine_opts opts = {.strsize = 17, .scratch_size = 64};
	struct world w;

	world_init(&w, &opts);
	run_row(&w, &(struct row){"strjoin(\"a\", \"b\")", "\"ab\""});
	run_row(&w, &(struct row){"lltostr(7)", "\"7\""});
	run_row(&w, &(struct row){"basename(\"x/y\")", "NOSCRATCH 0"});
	run_row(&w, &(struct row){"basename(0)", "BADADDR 0"});
	run_row(&w, &(struct row){"alloca(8)", "-"});
	run_row(&w, &(struct row){"alloca(1)", "NOSCRATCH 0"});
	run_row(&w, &(struct row){"strlen(\"abc\")", "3"});
	run_row(&w, &(struct row){"copyinstr(0)", "NOSCRATCH 0"});
	dif_machine_begin_clause(w.m);
	run_row(&w, &(struct row){"basename(\"x/y\")", "\"y\""});
	world_deinit(&w);
}

/* alloca, then bcopy and copyinto it; what is beyond the handed-out part is not writable. */
static void test_copies(void)
{
	struct world w;
	struct dif_result r;
	uint64_t base;

	world_init(&w, NULL);
	fill_world(&w);
	r = world_run(&w, "setx 16, %r1\npushtv 0, %r1\ncall alloca, %r2\n"
			  "setx 0xffff888000000000, %r1\npushtv 0, %r1\npushtv 0, %r2\n"
			  "setx 12, %r1\npushtv 0, %r1\ncall bcopy, %r3\nret %r2\n");
	base = r.value;
	ok(!r.fault && base % 8 == 0, "bcopy to alloca");
	{
		char text[256];
		uint32_t len;

		ok(dif_machine_text(w.m, base, text, &len) && strcmp(text, "kernel text") == 0,
		   "bcopy copied '%s'", text);
	}
	{
		const struct {
			uint64_t off, size;
			bool good;
		} tries[] = {{0, 16, true},	   {8, 8, true},      {15, 1, true},
			     {16, 0, true},	   {8, 9, false},     {16, 1, false},
			     {0, 17, false},	   {~0ull, 1, false}, {0, ~0ull, false},
			     {8, ~0ull - 7, false}};

		for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
			struct strbuf text = {0};

			for (int user = 0; user < 2; user++) {
				strbuf_clear(&text);
				strbuf_addf(
					&text,
					"setx 0x%llx, %%r1\nsetx 0x%llx, %%r2\nsetx 0x%llx, %%r3\n"
					"pushtv 0, %%r1\npushtv 0, %s\npushtv 0, %s\ncall %s, "
					"%%r4\nret %%r4\n",
					user ? UMEM : KMEM,
					(unsigned long long)(base + tries[i].off),
					(unsigned long long)tries[i].size, user ? "%r3" : "%r2",
					user ? "%r2" : "%r3", user ? "copyinto" : "bcopy");
				r = world_run(&w, strbuf_text(&text));
				ok(tries[i].good ? !r.fault
						 : r.fault == DIF_FAULT_BADADDR &&
							   r.fault_value == base + tries[i].off,
				   "%s of %lld bytes at %lld", user ? "copyinto" : "bcopy",
				   (long long)tries[i].size, (long long)tries[i].off);
			}
			strbuf_deinit(&text);
		}
	}
	world_deinit(&w);
}

/* Small blocks are there until the firing ends, a large one until its clause ends. */
static void test_blocks_kept(void)
{
	static const struct {
		uint64_t size;
		bool is_kept;
	} rows[] = {{16, true}, {1000, true}, {1017, false}, {4000, false}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[200], read[100];
		struct world w;
		uint64_t base;

		world_init(&w, NULL);
		snprintf(text, sizeof(text),
			 "setx %d, %%r1\npushtv 0, %%r1\ncall alloca, %%r2\nret %%r2\n",
			 (int)rows[i].size);
		base = world_run(&w, text).value;
		snprintf(read, sizeof(read), "setx 0x%llx, %%r1\nldub [%%r1], %%r2\nret %%r2\n",
			 (unsigned long long)base);
		ok(!world_run(&w, read).fault, "%d bytes in their clause", (int)rows[i].size);
		dif_machine_begin_clause(w.m);
		ok(!world_run(&w, read).fault == rows[i].is_kept, "%d bytes in the next clause",
		   (int)rows[i].size);
		dif_machine_begin_firing(w.m, 1);
		ok(world_run(&w, read).fault == DIF_FAULT_BADADDR, "%d bytes in the next firing",
		   (int)rows[i].size);
		world_deinit(&w);
	}
}

/* A row for every subroutine that is interpreted. */
static void test_all_covered(void)
{
	static const struct {
		const struct row *rows;
		size_t n;
	} tables[] = {{strings, ARRAY_LEN(strings)}, {paths, ARRAY_LEN(paths)},
		      {numbers, ARRAY_LEN(numbers)}, {memory, ARRAY_LEN(memory)},
		      {jsons, ARRAY_LEN(jsons)},     {tokens, 1}};

	for (uint32_t s = 0; dif_subr_name(s); s++) {
		size_t len = strlen(dif_subr_name(s));
		bool found = !dif_subr_is_interpreted(s);

		for (size_t t = 0; t < ARRAY_LEN(tables); t++)
			for (size_t i = 0; i < tables[t].n; i++)
				found |= strncmp(tables[t].rows[i].call, dif_subr_name(s), len) ==
						 0 &&
					 tables[t].rows[i].call[len] == '(';
		ok(found, "%s has a test", dif_subr_name(s));
	}
}

int main(void)
{
	run_rows(strings, ARRAY_LEN(strings), 256);
	run_rows(paths, ARRAY_LEN(paths), 256);
	run_rows(numbers, ARRAY_LEN(numbers), 256);
	run_rows(memory, ARRAY_LEN(memory), 256);
	run_rows(jsons, ARRAY_LEN(jsons), 256);
	run_rows(cut, ARRAY_LEN(cut), 8);
	test_ip6();
	test_tokens();
	test_scratch();
	test_copies();
	test_blocks_kept();
	test_all_covered();
	return tap_done();
}
