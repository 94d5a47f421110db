/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: formats of printf(), printa(), system(), freopen(). The input is the format; what
 * compiles is printed with values of its arguments' types.
 */
#include "../unit/d/check_env.h"
#include "render/impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const calls[] = {
	"printf(\"%s\");",
	"printf(\"%s\", 1);",
	"printf(\"%s\", \"text\");",
	"printf(\"%s\", (char)65, -1, execname);",
	"printf(\"%s\", stack(), ustack(), sym(arg0), uaddr(arg1));",
	"printf(\"%s\", wide, timestamp, (short)-2, curthread, text);",
	"system(\"%s\", pid, execname);",
	"freopen(\"%s\", pid);",
	"printa(\"%s\", @a);",
	"printa(\"%s\", @a, @b);",
};

/* The bytes as the inside of a string literal. */
static void quote(struct strbuf *out, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '"' || data[i] == '\\' || data[i] < ' ' || data[i] > '~')
			strbuf_addf(out, "\\%03o", data[i] ? data[i] : 1);
		else
			strbuf_addc(out, (char)data[i]);
	}
}

struct values {
	struct fmt_args args;
	const struct prog_act *act;
	uint32_t next;
};

static bool next_value(struct fmt_args *args, struct datum *ret)
{
	static const char bytes[64] = "some \"text\" \t\1\377 and more than that";
	struct values *v = CONTAINER_OF(args, struct values, args);
	const struct difo *d;

	if (v->next >= v->act->nargs)
		return false;
	d = v->act->args[v->next];
	*ret = (struct datum){.kind = v->act->arg_kinds[v->next], .is_signed = d->ret.is_signed};
	v->next++;
	if (ret->kind == DATUM_INT || ret->kind == DATUM_SYM || ret->kind == DATUM_MOD) {
		ret->size = d->ret.size ? d->ret.size : 8;
		ret->ival = (uint64_t)-3;
		return true;
	}
	ret->bytes = bytes;
	ret->size = ret->kind == DATUM_STRING				    ? 20
		    : ret->kind == DATUM_BYTES || ret->kind == DATUM_STRUCT ? MIN(d->ret.size, 64u)
									    : 16;
	return true;
}

static void print_all(const struct prog *prog)
{
	struct print_opts opts = {0};
	struct printer p = {.opts = &opts, .arena = arena_create()};

	for (uint32_t i = 0; i < prog->nclauses; i++)
		for (uint32_t k = 0; k < prog->clauses[i]->nacts; k++) {
			struct values v = {.args = {next_value, NULL},
					   .act = &prog->clauses[i]->acts[k]};

			if (!act_fmt(v.act) || v.act->kind == ACT_PRINTA)
				continue;
			fmt_print(&p, &p.out, fmt_prepare(p.arena, v.act->fmt), &v.args);
		}
	strbuf_deinit(&p.out);
	arena_destroy(p.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf format = {0};

	if (size > 500) /* widths multiply */
		return 0;
	quote(&format, data, size);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct strbuf script = {0};
		struct check_env env;
		struct prog *prog = NULL;

		strbuf_adds(
			&script,
			"int wide[4]; char text[8]; BEGIN { @a[1, \"k\"] = count(); @b[2, \"l\"] = max(1); ");
		strbuf_addf(&script, calls[i], strbuf_text(&format));
		strbuf_adds(&script, " }");
		check_env_init(&env);
		err_destroy(check_env_compile(&env, strbuf_text(&script), &prog));
		if (prog)
			print_all(prog);
		check_env_deinit(&env);
		strbuf_deinit(&script);
	}
	strbuf_deinit(&format);
	return 0;
}
