/* SPDX-License-Identifier: MIT */
/*
 * Lowering, seen from outside: D text is compiled, its DIF runs in the interpreter, the value
 * counts.
 *
 * A case is a list of statements; the value of the last one is compared. Kernel memory of the
 * interpreter's world holds one object at KERNEL, user memory another one at USER.
 */
#include "alone.h"
#include "dif/interp.h"
#include "tap.h"

#define KERNEL 0x1000
#define USER   0x8000
#define TEXT   0x9000 /* kernel memory: "kernel text" */
#define UTEXT  0xa000 /* user memory: "user text" */

/* Declared once for the compiler of this test, once for D. */
struct inner {
	char c;
	union {
		int i;
		unsigned char b[4];
	};
};
struct packet {
	unsigned char type;
	short neg;
	unsigned ver : 4, len : 5;
	int tiny : 3;
	unsigned long wide : 33;
	long big : 40;
	struct inner in[3];
	struct packet *next;
	char name[8];
	int *ip;
	_Bool flag;
};
static const char *const packet_decl =
	"struct inner { char c; union { int i; unsigned char b[4]; }; };"
	"struct packet { unsigned char type; short neg; unsigned ver : 4; unsigned len : 5; int "
	"tiny : 3;"
	" unsigned long wide : 33; long big : 40; struct inner in[3]; struct packet *next; char "
	"name[8];"
	" int *ip; _Bool flag; };\n";

static struct packet packet;

/* ---- the interpreter's world ----------------------------------------------------------------- */

static bool load_from(uint64_t base, const void *obj, size_t obj_size, uint64_t addr, void *buf,
		      uint32_t size)
{
	if (addr < base || addr + size > base + obj_size)
		return false;
	memcpy(buf, (const char *)obj + (addr - base), size);
	return true;
}

static bool load_kernel(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	return load_from(KERNEL, &packet, sizeof(packet), addr, buf, size) ||
	       load_from(TEXT, "kernel text", 12, addr, buf, size);
}

static bool load_user(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	return load_from(USER, &packet, sizeof(packet), addr, buf, size) ||
	       load_from(UTEXT, "user text", 10, addr, buf, size);
}

static enum dif_fault builtin(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	*ret = id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9 ? (uint64_t) - (int64_t)(id - DIF_VAR_ARG0)
							: 7;
	return DIF_FAULT_NONE;
}

static uint32_t rand_none(void *ctx)
{
	return 4;
}

static bool progenyof_none(void *ctx, int32_t pid)
{
	return false;
}

static const struct dif_env world = {.load_kernel = load_kernel,
				     .load_user = load_user,
				     .builtin = builtin,
				     .rand = rand_none,
				     .progenyof = progenyof_none};

/* ---- compiling ------------------------------------------------------------------------------- */

static const struct compile_opts opts = {.strsize = 64, .stackframes = 20, .ustackframes = 100};

/* NULL after printing the diagnosis. */
static struct prog *compile(struct dsession *s, const char *text)
{
	struct prog *prog = NULL;
	struct err *e = alone_compile(s, &opts, text, &prog);

	if (!e)
		return prog;
	printf("# %s\n", err_text(e));
	err_destroy(e);
	return NULL;
}

/* Runs every expression of the first clause; ret is that of the last one. */
static const struct difo *run_clause(struct dif_machine *m, const struct prog *prog,
				     struct dif_result *ret)
{
	const struct prog_clause *cl = prog->clauses[0];
	const struct difo *d = NULL;

	dif_machine_begin_firing(m, 1);
	for (uint32_t i = 0; i < cl->nacts; i++)
		for (uint32_t j = 0; j < cl->acts[i].nargs; j++) {
			d = cl->acts[i].args[j];
			*ret = dif_run(m, d);
			if (ret->fault)
				return d;
		}
	return d;
}

/* As a recorder keeps it: a by-value result cut to its type. */
static uint64_t recorded(uint64_t v, const struct dif_type *t)
{
	uint32_t shift = 64 - t->size * 8;

	if (t->flags || t->size == 0 || t->size >= 8)
		return v;
	return t->is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

struct outcome {
	bool is_compiled;
	struct dif_result result;
	struct dif_type type;
	char text[64]; /* of a string */
	uint32_t regs; /* highest register used */
};

static uint32_t highest_register(const struct difo *d)
{
	uint32_t high = 0;

	for (uint32_t i = 0; i < d->code_len; i++)
		high = MAX(high, (uint32_t)dif_insn_uses(d->code[i]).writes);
	return high;
}

static struct outcome evaluate(const char *decls, const char *statements)
{
	struct dsession *s = dsession_create(&opts);
	struct dif_machine_opts mo = {.strsize = 64};
	struct dif_machine *m = dif_machine_create(&world, &mo);
	struct strbuf text = {0};
	struct outcome o = {0};
	struct prog *prog;

	strbuf_addf(&text, "%sBEGIN { %s }", decls, statements);
	prog = compile(s, strbuf_text(&text));
	if (prog) {
		const struct difo *d = run_clause(m, prog, &o.result);
		uint32_t len;

		o.is_compiled = true;
		o.type = d->ret;
		o.result.value = recorded(o.result.value, &d->ret);
		o.regs = highest_register(d);
		if (!o.result.fault && o.type.kind == DIF_KIND_STRING &&
		    !dif_machine_text(m, o.result.value, o.text, &len))
			o.text[0] = '?';
	}
	strbuf_deinit(&text);
	dif_machine_destroy(m);
	dsession_destroy(s);
	return o;
}

/* ---- integers -------------------------------------------------------------------------------- */

struct int_case {
	const char *d;
	int64_t want;
};

/* clang-format off */
static const struct int_case int_cases[] = {
	/* arithmetic: arg0 = 0, arg1 = -1, arg2 = -2 ... */
	{ "trace(arg1 + arg2 * arg3)", 5 },
	{ "trace((arg9 - arg1) / 3)", -2 },
	{ "trace(arg9 % 4)", -1 },
	{ "trace((uint64_t)arg9 / 2)", INT64_MAX - 4 },
	{ "trace(arg9 >> 1)", -5 },
	{ "trace((uint64_t)arg9 >> 60)", 15 },
	{ "trace(1 << -arg4)", 16 },
	{ "trace(-arg5 & 6)", 4 },
	{ "trace(-arg5 | 8)", 13 },
	{ "trace(-arg5 ^ 1)", 4 },
	{ "trace(~arg5)", 4 },
	{ "trace(+arg5)", -5 },
	{ "trace(!arg5)", 0 },
	{ "trace(!arg0)", 1 },
	{ "trace(sizeof (arg0) + arg1)", 7 },
	/* 3.3: narrow arithmetic is 64 bits wide until it is converted, stored or recorded */
	{ "this->c = (char)100; trace(this->c + this->c)", -56 },
	{ "this->c = (char)100; this->d = this->c + this->c; trace(this->d)", -56 },
	{ "this->c = (char)100; trace(this->c + this->c < 0)", 0 },
	{ "this->c = (char)100; trace((this->c + this->c) / 2)", 100 },
	{ "this->c = (char)100; trace((int)(this->c + this->c))", 200 },
	{ "this->c = (char)100; trace((char)(this->c + this->c) + 0)", -56 },
	{ "this->c = (char)100; trace((this->d = this->c + this->c) + 0)", -56 },
	{ "this->c = (char)100; a[this->c + this->c] = 1; trace(a[(char)-56])", 1 },
	{ "this->u = (uint32_t)-arg1; trace(this->u - 2 > 5)", 1 },
	{ "this->u = (uint32_t)-arg1; trace((uint64_t)(this->u - 2))", -1 },
	{ "this->u = (uint32_t)-arg1; trace((uint64_t)-this->u)", 0xffffffff },
	{ "this->u = (uint8_t)255; this->u++; trace(this->u)", 0 },
	{ "this->u = (uint8_t)255; trace(++this->u)", 0 },
	{ "this->u = (uint8_t)255; trace(this->u++)", 255 },
	{ "this->u = (int8_t)127; this->u += 1; trace(this->u)", -128 },
	{ "this->u = (int8_t)127; trace((this->u += 2) + 0)", -127 },
	{ "trace((int8_t)(arg0 + 200))", -56 },
	{ "trace((uint8_t)arg1)", 255 },
	{ "trace((uint16_t)(int8_t)arg1)", 65535 },
	{ "trace((int64_t)(uint32_t)arg1)", 0xffffffff },
	{ "this->s = (short)-300; trace((char)this->s)", -44 },
	/* comparisons */
	{ "trace(arg1 < arg0)", 1 },
	{ "trace((uint64_t)arg1 < 1)", 0 },
	{ "trace(arg1 <= -1)", 1 },
	{ "trace(arg1 >= arg0)", 0 },
	{ "trace(arg1 > arg2)", 1 },
	{ "trace(arg1 == -1)", 1 },
	{ "trace(arg1 != -1)", 0 },
	/* logic */
	{ "trace(arg1 && arg0)", 0 },
	{ "trace(arg1 && arg2)", 1 },
	{ "trace(arg0 || arg0)", 0 },
	{ "trace(arg0 || arg9)", 1 },
	{ "trace(arg1 ^^ arg2)", 0 },
	{ "trace(arg0 ^^ arg2)", 1 },
	{ "trace(!(arg0 || !arg1) && (arg2 < arg3 || arg4 == -4))", 1 },
	{ "this->n = 0; this->r = arg0 && this->n++; trace(this->n)", 0 },
	{ "this->n = 0; this->r = arg1 || this->n++; trace(this->n)", 0 },
	{ "this->n = 0; this->r = arg1 ^^ this->n++; trace(this->n)", 1 },
	{ "trace(arg0 ? 1 : arg1 ? 2 : 3)", 2 },
	{ "trace(arg0 ? 0 : arg0 ? 2 : 0)", 0 },
	{ "trace((arg1 ? (uint8_t)arg1 : (uint8_t)1) + 0)", 255 },
	{ "this->n = 1; trace((arg1 ? arg0 : this->n++, this->n))", 1 },
	/* assignment */
	{ "x = 5; x += 3; x *= 4; x -= 2; x /= 3; x <<= 4; x >>= 1; x |= 1; x ^= 3; x &= 0xfe; x %= 50; trace(x)", 32 },
	{ "x = -20; x >>= 2; trace(x)", -5 },
	{ "x = y = 4; trace(x + y)", 8 },
	{ "x = 3; trace(x-- * 10 + x)", 32 },
	{ "x = 3; trace(--x * 10 + x)", 22 },
	{ "self->n++; self->n++; trace(self->n)", 2 },
	{ "this->p = (int *)0; this->p++; this->p += 2; trace((int64_t)this->p)", 12 },
	{ "this->p = (int *)16; this->p--; trace((int64_t)this->p--)", 12 },
	/* associative arrays */
	{ "a[1, \"x\"] = 7; a[1, \"y\"] = 8; trace(a[1, \"x\"] * 10 + a[1, \"y\"])", 78 },
	{ "a[1] = 7; a[1] += 5; a[1]++; trace(a[1])", 13 },
	{ "a[1] = 7; a[1] = 0; trace(a[1])", 0 },
	{ "a[2] = 3; a[3] = 9; trace(a[a[2]])", 9 },
	{ "self->a[\"k\"] = 4; trace(self->a[\"k\"] + self->a[\"other\"])", 4 },
	{ "a[strjoin(\"a\", \"b\")] = 6; trace(a[\"ab\"])", 6 },
	{ "a[1] = 1; a[2] = 2; trace(a[1] + a[2] + strlen(\"abc\") + a[1])", 7 },
	{ "a[1] = 2; b[a[1], a[1]] = 5; trace(arg0 ? a[1] : b[2, 2])", 5 },
	/* pointers */
	{ "trace((int64_t)((int *)100 + 3))", 112 },
	{ "trace((int64_t)(3 + (long *)100))", 124 },
	{ "trace((int64_t)((struct inner *)100 - 2))", 100 - 2 * (int64_t)sizeof(struct inner) },
	{ "trace((struct inner *)116 - (struct inner *)100)", 2 },
	{ "trace((int64_t)((char *)100 + arg1))", 99 },
	{ "trace((struct inner *)arg1 == 0)", 0 },
	/* kernel memory */
	{ "trace(((struct packet *)0x1000)->type)", 200 },
	{ "trace(((struct packet *)0x1000)->neg)", -5 },
	{ "trace((*(struct packet *)0x1000).neg)", -5 },
	{ "trace(((struct packet *)0x1000)->in[1].i)", -77 },
	{ "trace(((struct packet *)0x1000)->in[1].b[0])", 0xb3 },
	{ "trace(((struct packet *)0x1000)->in[2].c)", 'z' },
	{ "trace(((struct packet *)0x1000)->next->next->type)", 200 },
	{ "trace(((struct packet *)0x1000)->flag)", 1 },
	{ "trace(((struct packet *)0x1000)->name[1])", 'a' },
	{ "this->p = (struct packet *)0x1000; trace(*this->p->name)", 'p' },
	{ "trace((int64_t)&((struct packet *)0x1000)->in[1].i)", 0x1000 + offsetof(struct packet, in[1].i) },
	{ "trace((int64_t)&((struct packet *)0)->next)", offsetof(struct packet, next) },
	{ "trace(*(short *)(0x1000 + offsetof(struct packet, neg)))", -5 },
	/* bit-fields */
	{ "trace(((struct packet *)0x1000)->ver)", 9 },
	{ "trace(((struct packet *)0x1000)->len)", 21 },
	{ "trace(((struct packet *)0x1000)->tiny)", -3 },
	{ "trace(((struct packet *)0x1000)->wide)", 0x123456789 },
	{ "trace(((struct packet *)0x1000)->big)", -12345678901 },
	/* user memory */
	{ "trace(((userland struct packet *)0x8000)->neg)", -5 },
	{ "trace(((userland struct packet *)0x8000)->tiny)", -3 },
	{ "trace(((userland struct packet *)0x8000)->in[1].b[0])", 0xb3 },
	{ "trace(((userland char *)0xa000)[1])", 's' },
	{ "trace(*((userland char *)0xa000 + 2))", 'e' },
	/* D's own memory */
	{ "this->p = (int *)alloca(16); this->p[2] = 5; *this->p = 6; trace(this->p[2] * 10 + *this->p)", 56 },
	{ "this->p = (struct packet *)alloca(sizeof (struct packet)); this->p->big = -9; this->p->wide = 0x1ffffffff;"
	  " this->p->ver = 3; this->p->len = 31; this->p->tiny = 2; this->p->ver = 25;"
	  " trace(this->p->big * 1000000 + (int64_t)(this->p->wide >> 32) * 100000 + this->p->ver * 1000 + this->p->len * 10 + this->p->tiny)",
	  -9000000 + 100000 + 9000 + 310 + 2 },
	{ "this->p = (struct packet *)alloca(sizeof (struct packet)); trace((this->p->ver = 25) + 0)", 9 },
	{ "this->p = (struct packet *)alloca(sizeof (struct packet)); this->p->tiny = 3; this->p->tiny++; trace(this->p->tiny)", -4 },
	{ "this->p = (struct packet *)alloca(sizeof (struct packet)); this->p->len = 30; trace(this->p->len++ * 100 + this->p->len)", 3031 },
	{ "this->p = (struct packet *)alloca(sizeof (struct packet)); this->p->len = 10; this->p->len += 7; trace(this->p->len)", 17 },
	{ "this->p = (struct packet *)alloca(sizeof (struct packet)); *this->p = *(struct packet *)0x1000; trace(this->p->big)", -12345678901 },
	{ "s = *(struct packet *)0x1000; trace(s.in[1].i)", -77 },
	{ "s = *(struct packet *)0x1000; s.in[1].i = 4; s.tiny = 1; trace(s.in[1].i * 10 + s.tiny)", 41 },
	{ "s = *(userland struct packet *)0x8000; trace(s.neg)", -5 },
	{ "a[1] = *(struct packet *)0x1000; trace(a[1].neg + a[1].type)", 195 },
	{ "b[*(struct inner *)0x1000] = 3; trace(b[*(struct inner *)0x1000])", 3 },
	/* strings */
	{ "trace(\"abc\" < \"abd\")", 1 },
	{ "trace(\"abc\" == \"abc\")", 1 },
	{ "trace(\"abc\" != \"abc\")", 0 },
	{ "trace(\"b\" >= \"abc\")", 1 },
	{ "x = \"hello\"; trace(x[1])", 'e' },
	{ "x = \"hello\"; trace(x == \"hello\" && x > \"hell\" && !(x <= \"a\"))", 1 },
	{ "self->x = \"hello\"; self->x = 0; trace(self->x == NULL && self->x == \"\")", 1 },
	{ "a[1] = \"hello\"; a[1] = 0; trace(a[1] == NULL)", 1 },
	{ "trace(stringof((char *)0x9000) == \"kernel text\")", 1 },
	{ "trace(strlen(strjoin(\"ab\", strjoin(\"cd\", \"ef\"))))", 6 },
	{ "trace(strlen(\"a\") + strlen(\"bc\") * strlen(\"def\"))", 7 },
	{ "trace(index(\"abcabc\", \"c\", 3))", 5 },
	{ "trace(index(\"abcabc\", \"c\"))", 2 },
};

static const struct { const char *d, *want; } string_cases[] = {
	{ "trace(\"abc\")", "abc" },
	{ "x = \"abc\"; y = x; x = \"d\"; trace(strjoin(x, y))", "dabc" },
	{ "trace(stringof((char *)0x9000))", "kernel text" },
	{ "trace(stringof(0x9000))", "kernel text" },
	{ "trace((string)(char *)0x9000)", "kernel text" },
	{ "trace(stringof((userland char *)0xa000))", "user text" },
	{ "trace(stringof(((struct packet *)0x1000)->name))", "packet" },
	{ "trace(stringof(((userland struct packet *)0x8000)->name))", "packet" },
	{ "x = ((struct packet *)0x1000)->name; trace(stringof(x))", "packet" },
	{ "x = \"a\"; x = (char *)0x9000; trace(x)", "kernel text" },
	{ "a[\"k\"] = \"v\"; trace(a[\"k\"])", "v" },
	{ "self->s = \"thread\"; trace(self->s)", "thread" },
	{ "trace(arg0 ? \"yes\" : \"no\")", "no" },
	{ "trace(arg1 ? \"yes\" : arg2 ? \"x\" : \"no\")", "yes" },
	{ "trace(substr(\"abcdef\", 2, 3))", "cde" },
	{ "trace(copyinstr(0xa000, 4))", "user" },
	{ "this->s = strjoin(\"a\", lltostr(arg9)); trace(this->s)", "a-9" },
};

static const struct { const char *d; enum dif_fault fault; } fault_cases[] = {
	{ "trace(1 / arg0)", DIF_FAULT_DIVZERO },
	{ "trace((uint64_t)5 % arg0)", DIF_FAULT_DIVZERO },
	{ "x = 4; x /= arg0", DIF_FAULT_DIVZERO },
	{ "trace(*(int *)arg0)", DIF_FAULT_BADADDR },
	{ "trace(((struct packet *)arg0)->neg)", DIF_FAULT_BADADDR },
	{ "trace(*(int *)0x8000)", DIF_FAULT_BADADDR },	     /* user memory through a kernel pointer */
	{ "trace(*(userland int *)0x1000)", DIF_FAULT_BADADDR },
};
/* clang-format on */

static void test_ints(void)
{
	for (size_t i = 0; i < ARRAY_LEN(int_cases); i++) {
		struct outcome o = evaluate(packet_decl, int_cases[i].d);
		int64_t got = (int64_t)o.result.value;

		if (!ok(o.is_compiled && !o.result.fault && got == int_cases[i].want, "%s",
			int_cases[i].d))
			printf("# got %lld, want %lld, fault %d\n", (long long)got,
			       (long long)int_cases[i].want, (int)o.result.fault);
	}
}

static void test_strings(void)
{
	for (size_t i = 0; i < ARRAY_LEN(string_cases); i++) {
		struct outcome o = evaluate(packet_decl, string_cases[i].d);

		if (!ok(o.is_compiled && !o.result.fault &&
				strcmp(o.text, string_cases[i].want) == 0,
			"%s", string_cases[i].d))
			printf("# got '%s', fault %d\n", o.text, (int)o.result.fault);
	}
}

static void test_faults(void)
{
	for (size_t i = 0; i < ARRAY_LEN(fault_cases); i++) {
		struct outcome o = evaluate(packet_decl, fault_cases[i].d);

		ok(o.is_compiled && o.result.fault == fault_cases[i].fault, "fault of %s",
		   fault_cases[i].d);
	}
}

/* ---- bit-fields of packed structs, as compilers describe them -------------------------------- */

struct tight {
	unsigned a : 3;
	unsigned long b : 63; /* ends in the third byte of the second 8: two loads */
	int c : 6;
	long d : 60;
} __attribute__((packed));

static struct tight tight;

static type_id find_tight(void *ctx, struct types *t, enum type_kind kind, const char *tag)
{
	static const struct type_member members[] = {
		{"a", TYPE_UINT, 0, 3},
		{"b", TYPE_ULONG, 3, 63},
		{"c", TYPE_INT, 66, 6},
		{"d", TYPE_LONG, 72, 60},
	};

	if (kind != TK_STRUCT || strcmp(tag, "tight") != 0)
		return TYPE_NONE;
	return type_import_sou(t, TYPE_NONE, kind, tag, sizeof(struct tight), members,
			       ARRAY_LEN(members));
}

static bool load_tight(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	return load_from(KERNEL, &tight, sizeof(tight), addr, buf, size);
}

static int64_t evaluate_tight(const char *d)
{
	static const struct type_importer imp = {.find_tag = find_tight};
	struct dif_env tight_world = world;
	struct dsession *s = dsession_create(&opts);
	struct dif_result r = {0};
	struct dif_machine *m;
	struct prog *prog;

	tight_world.load_kernel = load_tight;
	m = dif_machine_create(&tight_world, NULL);
	types_set_importer(dsession_types(s), &imp);
	prog = compile(s, d);
	if (prog)
		run_clause(m, prog, &r);
	dif_machine_destroy(m);
	dsession_destroy(s);
	return !prog || r.fault ? INT64_MIN : (int64_t)r.value;
}

static void test_tight(void)
{
	tight = (struct tight){.a = 5, .b = 0x5123456789abcdef, .c = -9, .d = -(1ll << 58) - 7};
	is_int(evaluate_tight("BEGIN { trace(((struct tight *)0x1000)->a) }"), tight.a,
	       "packed: in one byte");
	is_int(evaluate_tight("BEGIN { trace(((struct tight *)0x1000)->b) }"), tight.b,
	       "packed: across 8 bytes");
	is_int(evaluate_tight("BEGIN { trace(((struct tight *)0x1000)->c) }"), tight.c,
	       "packed: signed");
	is_int(evaluate_tight("BEGIN { trace(((struct tight *)0x1000)->d) }"), tight.d,
	       "packed: signed, long");
	is_int(evaluate_tight(
		       "BEGIN { this->p = (struct tight *)alloca(24); this->p->a = 7; this->p->c = "
		       "-2;"
		       " this->p->b = 0x4000000000000001; this->p->d = -5;"
		       " trace(this->p->a * 10000 + (int64_t)(this->p->b >> 62) * 1000 +"
		       " (int64_t)(this->p->b & 15) * 100 + this->p->c * 10 + this->p->d) }"),
	       70000 + 1000 + 100 - 20 - 5, "packed: stores keep the neighbours");
}

/* ---- result types, registers ----------------------------------------------------------------- */

static void test_result_types(void)
{
	struct outcome o;

	o = evaluate("", "trace((short)arg1)");
	ok(o.type.size == 2 && o.type.is_signed && !o.type.flags && o.type.kind == DIF_KIND_CTF,
	   "short");
	o = evaluate("", "trace((uint32_t)arg1 + (uint8_t)1)");
	ok(o.type.size == 4 && !o.type.is_signed, "uint32_t");
	o = evaluate("", "trace(\"s\")");
	ok(o.type.kind == DIF_KIND_STRING && o.type.size == 64 && o.type.flags == DIF_TF_BYREF,
	   "string");
	o = evaluate(packet_decl, "trace(*(struct packet *)0x1000)");
	ok(o.type.size == sizeof(struct packet) && o.type.flags == DIF_TF_BYREF, "struct");
	is_int(o.result.value, KERNEL, "its address");
	o = evaluate(packet_decl, "trace(((userland struct packet *)0x8000)->name)");
	ok(o.type.size == 8 && o.type.flags == DIF_TF_BYUREF, "array in user memory");
}

/* n operands; shape: 'l' leans left, 'r' right, 'b' balanced */
static void add_sum(struct strbuf *b, int n, char shape)
{
	int left = shape == 'l' ? n - 1 : shape == 'r' ? 1 : n / 2;

	if (n == 1) {
		strbuf_adds(b, "arg1");
		return;
	}
	strbuf_addc(b, '(');
	add_sum(b, left, shape);
	strbuf_adds(b, " - ");
	add_sum(b, n - left, shape);
	strbuf_addc(b, ')');
}

static int64_t sum_value(int n, char shape)
{
	int left = shape == 'l' ? n - 1 : shape == 'r' ? 1 : n / 2;

	return n == 1 ? -1 : sum_value(left, shape) - sum_value(n - left, shape);
}

static void test_registers(void)
{
	static const struct {
		char shape;
		int n;
		uint32_t max;
	} shapes[] = {
		{'l', 100, 2},
		{'r', 100, 2},
		{'b', 512, 10},
	};

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct strbuf b = {0};
		struct outcome o;

		strbuf_adds(&b, "trace(");
		add_sum(&b, shapes[i].n, shapes[i].shape);
		strbuf_addc(&b, ')');
		o = evaluate("", strbuf_text(&b));
		ok(o.is_compiled && o.regs <= shapes[i].max, "shape %c needs %u registers",
		   shapes[i].shape, o.regs);
		is_int(o.result.value, sum_value(shapes[i].n, shapes[i].shape), "its value");
		strbuf_deinit(&b);
	}
}

/* ---- folded at compile time or evaluated in the probe: the same value ------------------------ */

static const struct {
	const char *var, *literal;
} operands[] = {
	{"this->c", "((char)100)"},
	{"this->u", "((uint8_t)250)"},
	{"this->s", "((short)-30000)"},
	{"this->i", "((int)2000000000)"},
	{"this->w", "((uint32_t)4000000000)"},
	{"this->l", "((int64_t)-5)"},
	{"this->q", "((uint64_t)0xfffffffffffffff0)"},
};

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/* The same expression twice: of variables and of literals. */
static void random_expr(uint32_t *rnd, int depth, struct strbuf *vars, struct strbuf *literals)
{
	static const struct {
		const char *before, *between, *after;
		int n;
	} forms[] = {
		{"(", " + ", ")", 2},	      {"(", " - ", ")", 2},
		{"(", " * ", ")", 2},	      {"(", " & ", ")", 2},
		{"(", " | ", ")", 2},	      {"(", " ^ ", ")", 2},
		{"(", " < ", ")", 2},	      {"(", " >= ", ")", 2},
		{"(", " == ", ")", 2},	      {"(", " && ", ")", 2},
		{"(", " ^^ ", ")", 2},	      {"(", " / (1 | ", "))", 2},
		{"(", " % (1 | ", "))", 2},   {"(", " << (15 & ", "))", 2},
		{"(", " >> (15 & ", "))", 2}, {"(-", "", ")", 1},
		{"(~", "", ")", 1},	      {"(!", "", ")", 1},
		{"((int8_t)", "", ")", 1},    {"((uint16_t)", "", ")", 1},
		{"((int)", "", ")", 1},	      {"((uint64_t)", "", ")", 1},
	};
	uint32_t i = random_next(rnd) % ARRAY_LEN(forms);

	if (depth == 0) {
		i = random_next(rnd) % ARRAY_LEN(operands);
		strbuf_adds(vars, operands[i].var);
		strbuf_adds(literals, operands[i].literal);
		return;
	}
	strbuf_adds(vars, forms[i].before);
	strbuf_adds(literals, forms[i].before);
	random_expr(rnd, depth - 1, vars, literals);
	strbuf_adds(vars, forms[i].between);
	strbuf_adds(literals, forms[i].between);
	if (forms[i].n == 2)
		random_expr(rnd, depth - 1, vars, literals);
	strbuf_adds(vars, forms[i].after);
	strbuf_adds(literals, forms[i].after);
}

static void test_folding(void)
{
	struct strbuf vars = {0}, literals = {0}, set = {0};
	uint32_t rnd = 1;
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_LEN(operands); i++)
		strbuf_addf(&set, "%s = %s; ", operands[i].var, operands[i].literal);
	for (int i = 0; i < 500 && wrong < 5; i++) {
		struct outcome a, b;

		strbuf_clear(&vars);
		strbuf_clear(&literals);
		strbuf_addf(&vars, "%strace(", strbuf_text(&set));
		strbuf_adds(&literals, "trace(");
		random_expr(&rnd, 1 + i % 4, &vars, &literals);
		strbuf_adds(&vars, ")");
		strbuf_adds(&literals, ")");
		a = evaluate("", strbuf_text(&vars));
		b = evaluate("", strbuf_text(&literals));
		if (a.is_compiled && b.is_compiled && a.result.value == b.result.value &&
		    a.type.size == b.type.size && a.type.is_signed == b.type.is_signed)
			continue;
		wrong++;
		printf("# %s\n# in the probe 0x%llx (%u), folded 0x%llx (%u)\n",
		       strbuf_text(&literals), (unsigned long long)a.result.value, a.type.size,
		       (unsigned long long)b.result.value, b.type.size);
	}
	is_int(wrong, 0, "500 random expressions: folded as evaluated");
	strbuf_deinit(&vars);
	strbuf_deinit(&literals);
	strbuf_deinit(&set);
}

/* Effects keep the order, so that registers can end. */
static void test_noreg(void)
{
	struct dsession *s = dsession_create(&opts);
	struct strbuf b = {0};
	struct prog *prog = NULL;
	struct err *e;
	int n = 300;

	strbuf_adds(&b, "BEGIN { trace(");
	for (int i = 0; i < n; i++)
		strbuf_adds(&b, "rand() + (");
	strbuf_adds(&b, "rand()");
	for (int i = 0; i < n; i++)
		strbuf_addc(&b, ')');
	strbuf_adds(&b, ") }");
	e = alone_compile(s, &opts, strbuf_text(&b), &prog);
	ok(e && strstr(err_text(e), "D_NOREG"), "no register left: D_NOREG");
	err_destroy(e);
	strbuf_deinit(&b);
	dsession_destroy(s);
}

int main(void)
{
	packet = (struct packet){.type = 200,
				 .neg = -5,
				 .ver = 9,
				 .len = 21,
				 .tiny = -3,
				 .wide = 0x123456789,
				 .big = -12345678901,
				 .next = (struct packet *)KERNEL,
				 .name = "packet",
				 .flag = true};
	packet.in[1].i = -77;
	packet.in[2].c = 'z';
	test_ints();
	test_strings();
	test_faults();
	test_tight();
	test_result_types();
	test_registers();
	test_folding();
	test_noreg();
	return tap_done();
}
