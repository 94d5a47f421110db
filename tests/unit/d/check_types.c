/* SPDX-License-Identifier: MIT */
/* Types and values of expressions: d-language.md 2.3, 3.3, 3.5; folded and computed alike. */
#include "check_eval.h"
#include "tap.h"

#define S true
#define U false

/* clang-format off */
static const struct row { const char *expr; uint32_t size; bool is_signed; int64_t value; } rows[] = {
	/* literals (1.4, 1.5) */
	{ "1", 4, S, 1 }, { "5000000000", 8, S, 5000000000 }, { "0xffffffff", 4, U, 0xffffffff },
	{ "1u", 4, U, 1 }, { "1l", 8, S, 1 }, { "1ull", 8, U, 1 }, { "0xffffffffffffffff", 8, U, -1 },
	{ "'a'", 4, S, 'a' }, { "NULL", 8, S, 0 },
	/* promotion is not C's: rank = bits + unsigned, nothing is widened to int first */
	{ "(char)1 + (char)2", 1, S, 3 }, { "(char)100 + (char)100", 1, S, -56 },
	{ "(uint8_t)200 + (uint8_t)100", 1, U, 44 }, { "(short)1 + (char)1", 2, S, 2 },
	{ "(uint16_t)1 + 1", 4, S, 2 }, { "1 + 1u", 4, U, 2 }, { "1u + 1l", 8, S, 2 },
	{ "-1 + 1ul", 8, U, 0 }, { "(char)-1 + (uint64_t)1", 8, U, 0 },
	/* folding at 64 bits */
	{ "10 * 1000 * 1000 * 1000 > timestamp", 4, S, 1 }, { "(int64_t)(10 * 1000 * 1000 * 1000)", 8, S, 10000000000 },
	{ "-1u", 4, U, 4294967295 }, { "-(uint64_t)1", 8, U, -1 }, { "~0", 4, S, -1 }, { "!5", 4, S, 0 },
	{ "!0", 4, S, 1 }, { "-7 / 2", 4, S, -3 }, { "-7 % 3", 4, S, -1 }, { "7u / 2", 4, U, 3 },
	{ "(-9223372036854775807 - 1) / -1", 8, S, INT64_MIN },
	{ "(-9223372036854775807 - 1) % -1", 8, S, 0 },
	{ "-8 >> 1", 4, S, -4 }, { "0xfffffff0 >> 4", 4, U, 0x0fffffff }, { "1 << 4", 4, S, 16 },
	{ "(char)1 << 3l", 1, S, 8 }, { "1l << 40", 8, S, 1L << 40 },
	/* comparison: signed only if the promoted type is */
	{ "-1 < 1", 4, S, 1 }, { "-1 < 1u", 4, S, 0 }, { "-1 < (uint16_t)1", 4, S, 1 }, { "-1l < 1u", 4, S, 1 },
	{ "3 >= 3", 4, S, 1 }, { "3 != 3", 4, S, 0 },
	{ "1 && 0", 4, S, 0 }, { "1 || 0", 4, S, 1 }, { "1 ^^ 1", 4, S, 0 }, { "1 ^^ 0", 4, S, 1 },
	{ "6 & 3", 4, S, 2 }, { "6 | 3", 4, S, 7 }, { "6 ^ 3", 4, S, 5 },
	/* casts truncate and extend */
	{ "(char)300", 1, S, 44 }, { "(unsigned char)-1", 1, U, 255 }, { "(int)(char)-1", 4, S, -1 },
	{ "(uint32_t)(char)-1", 4, U, 4294967295 }, { "(int64_t)0xffffffff", 8, S, 4294967295 },
	{ "(int)5000000000", 4, S, 705032704 },
	/* ?: */
	{ "1 ? 2 : 3l", 8, S, 2 }, { "0 ? 2 : 3", 4, S, 3 }, { "pid ? (char)1 : (char)2", 1, S, 1 },
	/* built-ins */
	{ "pid", 4, S, 0x116 }, { "uid", 4, U, 0x11e }, { "timestamp", 8, U, 0x101 }, { "arg3", 8, S, 0x109 },
	{ "walltimestamp", 8, S, 0x11a }, { "cpu", 4, S, 0x200 }, { "epid", 4, U, 0x104 }, { "curthread", 8, U, 0x100 },
	{ "errno", 4, S, 0x120 }, { "ipl", 4, U, 0x103 },
	/* computed like folded */
	{ "(char)pid + (char)1", 1, S, 0x17 }, { "-pid < 1u", 4, S, 0 }, { "-pid >> 1", 4, S, -0x8b },
	{ "(uint32_t)-pid / 2", 4, U, (0x100000000 - 0x116) / 2 }, { "pid++", 0, S, 0 },
	{ "(pid, tid)", 4, S, 0x117 }, { "pid > tid ? pid : tid", 4, S, 0x117 },
	/* sizes */
	{ "sizeof(int)", 8, U, 4 }, { "sizeof(\"abc\")", 8, U, 4 }, { "sizeof(execname)", 8, U, 256 },
	{ "sizeof(char *)", 8, U, 8 }, { "sizeof(timestamp)", 8, U, 8 }, { "sizeof(int [10])", 8, U, 40 },
	{ "sizeof((char)1 + (char)1)", 8, U, 1 },
	/* strings */
	{ "execname == \"v118\"", 4, S, 1 }, { "execname != \"v118\"", 4, S, 0 }, { "\"a\" < \"b\"", 4, S, 1 },
	{ "\"abc\" >= \"abd\"", 4, S, 0 }, { "\"\" == strstr(\"a\", \"b\")", 4, S, 1 },
	{ "strstr(\"a\", \"b\") == NULL", 4, S, 1 }, { "execname == NULL", 4, S, 0 },
	{ "\"abc\"[1]", 1, S, 'b' }, { "*(\"abc\" + 2)", 1, S, 'c' }, { "strlen(\"hello\")", 8, U, 5 },
	{ "index(\"hello\", \"l\")", 4, S, 2 }, { "(string)\"a\" == \"a\"", 4, S, 1 },
};

static const struct text_row { const char *expr, *text; } texts[] = {
	{ "\"abc\"", "abc" }, { "execname", "v118" }, { "probefunc", "v114" },
	{ "pid ? \"a\" : \"b\"", "a" }, { "0 ? \"a\" : \"b\"", "b" }, { "pid ? \"a\" : 0", "a" },
	{ "strjoin(execname, \"!\")", "v118!" }, { "stringof(\"x\")", "x" }, { "substr(\"abcdef\", 2, 3)", "cde" },
	{ "lltostr(-12)", "-12" }, { "(string)(\"abc\" + 1)", "bc" }, { "stringof(&\"abc\"[1])", "bc" },
	{ "basename(\"/a/b\")", "b" }, { "dirname(\"/a/b\")", "/a" },
	{ "pid ? \"abc\" + 1 : execname", "bc" }, { "toupper(\"abc\")", "ABC" },
};

/* Whole bodies; the last trace() counts. */
static const struct row bodies[] = {
	{ "x = 1; trace(x);", 4, S, 1 },
	{ "x = (char)-3; trace(x);", 1, S, -3 },
	{ "x = 5000000000; trace(x);", 8, S, 5000000000 },
	{ "x = 300; this->c = (char)1; this->c = x; trace(this->c);", 8, S, 300 },
	{ "x = (uint32_t)5; x = -1; trace(x);", 8, S, -1 },
	{ "x = (uint32_t)5; x = timestamp; x = 7; trace(x);", 8, U, 7 },
	{ "x = (char)5; x = x + 1; trace(x);", 1, S, 6 },
	{ "x++; ++x; x--; trace(x);", 8, S, 1 },
	{ "trace(self->y++); self->y += 10; trace(self->y);", 8, S, 11 },
	{ "trace(x++ + 5);", 8, S, 5 },
	{ "trace(x = 3);", 4, S, 3 },
	{ "x = y = 4; trace(x + y);", 4, S, 8 },
	{ "x = 7; x *= 3; x -= 1; x /= 4; x %= 4; x <<= 3; x |= 1; x ^= 3; x &= 14; x >>= 1; trace(x);", 4, S, 5 },
	{ "a[1, \"x\"] = 10; a[1, \"x\"] += 5; trace(a[1, \"x\"] + a[2, \"x\"]);", 4, S, 15 },
	{ "a[1] = 2; a[1] = 0; trace(a[1]);", 4, S, 0 },
	{ "self->m[execname] = 2l; trace(self->m[\"v118\"]);", 8, S, 2 },
	{ "a[(char)1]++; trace(a[1]);", 8, S, 1 },
	{ "if (pid == 1) { trace(1); } else if (pid == 0x116) { trace(2); } else trace(3);", 4, S, 2 },
	{ "if (0) trace(1); else { if (1) trace(5); }", 4, S, 5 },
	{ "x = 1; if (x) { x = 2; if (x == 1) x = 3; else x = 4; } trace(x);", 4, S, 4 },
	{ "this->p = (char *)alloca(8); this->p[0] = 'h'; this->p[1] = 0; *(this->p + 1) = 'i'; this->p[2] = 0; trace(this->p[1]);", 1, S, 'i' },
	{ "this->p = (int *)alloca(16); this->p[3] = 7; this->q = this->p + 3; trace(this->q - this->p + *this->q);", 8, S, 10 },
	{ "this->s = (struct s *)alloca(64); this->s->b = 9; this->s->in.y = 5; this->s->f = 6; trace(this->s->b + this->s->in.y + this->s->f);", 4, S, 20 },
	{ "v.a = 3; v.b = 4; w = v; trace(w.a * w.b);", 4, S, 12 },
	{ "v.f = 9; v.g = 3; trace(v.f * 10 + v.g);", 4, S, -67 },
	{ "this->u = v; this->u.b = 2; trace(this->u.b + v.b);", 4, S, 2 },
	{ "trace(offsetof(struct s, b) + offsetof(struct s, in) + sizeof(struct s));", 8, U, 4 + 12 + 20 },
	{ "this->s = (struct s *)alloca(64); trace((uint64_t)&this->s->b - (uint64_t)this->s);", 8, U, 4 },
	{ "trace(TWO + sq[3] + B);", 4, S, 2 + 9 + 11 },
	{ "trace(add[sq[2], 3]);", 8, S, 7 },
	{ "x = 2; trace(twice[x + 1]);", 4, S, 6 },
	{ "this->i = 5; trace(xlate<struct out *>(this->i)->half);", 4, S, 2 },
	{ "this->o = xlate<struct out *>(8); trace(this->o->half + this->o->whole);", 8, S, 12 },
	{ "trace(tr->half);", 4, S, 0x8b },
	{ "self->s = \"abc\"; self->s = 0; trace(self->s == NULL);", 4, S, 1 },
	{ "k = K_B; trace(k == K_B && k != K_A);", 4, S, 1 },
	{ "trace(1 ? x : y, x = 2);", 0, S, 0 },
	{ "x = \"a\"; y = x; x = \"b\"; trace(y == \"a\");", 4, S, 1 },
	{ "this->x = 5; x = 6; self->x = 7; @x = count(); trace(this->x * 100 + x * 10 + self->x);", 4, S, 567 },
};
/* clang-format on */

static const char preamble[] =
	"struct s { int a, b; int f:4, g:3; struct { short x; int y; } in; };\n"
	"struct s v, w;\n"
	"struct out { int half; long whole; };\n"
	"translator struct out < int i > { half = i / 2; whole = (long)i; };\n"
	"inline int TWO = 2;\n"
	"inline int sq[int x] = x * x;\n"
	"inline long add[int a, long b] = a + b;\n"
	"inline int twice[int x] = x + x;\n"
	"inline struct out *tr = xlate<struct out *>(pid);\n"
	"enum { A = 10, B };\n"
	"enum kind { K_A, K_B } ;\n"
	"enum kind k;\n";

static void check_row(const struct row *row, const char *script)
{
	struct eval v;

	eval(&v, script);
	if (row->size == 0) {
		ok(v.e != NULL, "%s is refused", row->expr);
	} else if (v.e) {
		ok(false, "%s compiles", row->expr);
		printf("# %s\n", err_text(v.e));
	} else {
		bool good = v.type.size == row->size && v.type.is_signed == row->is_signed &&
			    eval_recorded(&v) == row->value && !v.result.fault;

		ok(good, "%s", row->expr);
		if (!good)
			printf("# size %u signed %d value %lld fault %d\n", v.type.size,
			       v.type.is_signed, (long long)eval_recorded(&v), (int)v.result.fault);
	}
	eval_deinit(&v);
}

static void check_text(const struct text_row *row, const char *script)
{
	struct eval v;

	eval(&v, script);
	if (v.e)
		printf("# %s\n", err_text(v.e));
	ok(!v.e && v.type.kind == DIF_KIND_STRING, "%s is a string", row->expr);
	is_str(v.text, row->text, row->expr);
	eval_deinit(&v);
}

int main(void)
{
	struct strbuf script = {0};

	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		strbuf_clear(&script);
		strbuf_addf(&script, "BEGIN { trace(%s); }", rows[i].expr);
		check_row(&rows[i], strbuf_text(&script));
	}
	for (uint32_t i = 0; i < ARRAY_LEN(texts); i++) {
		strbuf_clear(&script);
		strbuf_addf(&script, "BEGIN { trace(%s); }", texts[i].expr);
		check_text(&texts[i], strbuf_text(&script));
	}
	for (uint32_t i = 0; i < ARRAY_LEN(bodies); i++) {
		strbuf_clear(&script);
		strbuf_addf(&script, "%s BEGIN { %s }", preamble, bodies[i].expr);
		check_row(&bodies[i], strbuf_text(&script));
	}
	strbuf_deinit(&script);
	return tap_done();
}
