/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: script text through the whole front end, on a system with a few made-up probes. What
 * compiles must verify (the compiler does that) and run in the interpreter without reaching a
 * BUG(). The last byte chooses how it is compiled, so that scripts are seeds as they are (a
 * newline: a file).
 */
#include "../unit/d/check_eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_all(struct eval *v, const struct prog *prog)
{
	struct dif_env env = dif_env_none;
	const struct dif_machine_opts opts = {.strsize = v->env.opts.strsize};

	env.ctx = v;
	env.builtin = eval_builtin;
	v->machine = dif_machine_create(&env, &opts);
	for (uint32_t i = 0; i < prog->nclauses; i++) {
		dif_machine_begin_firing(v->machine, 1);
		if (prog->clauses[i]->pred)
			(void)dif_run(v->machine, prog->clauses[i]->pred); /* any value will do */
		eval_clause(v, prog->clauses[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *argv[] = {"fuzz.d", "-5", "0x10u", "name", "two words", "int"};
	CLEANUP(free) char *text = NULL;
	struct strbuf out = {0};
	struct prog *prog;
	uint8_t flags;
	struct eval v = {0};

	if (!size)
		return 0;
	text = xmalloc(size);
	memcpy(text, data, size); /* its own block, so that reading past the end is seen */
	flags = data[size - 1];
	check_env_init(&v.env);
	v.env.opts.zdefs = flags & 2;
	for (int i = 0; i < 2; i++) { /* the second time on what the first left */
		struct err *e = dsession_compile(v.env.session, &v.env.opts, &v.env.env,
						 flags & 1 ? SOURCE_STRING : SOURCE_FILE, "fuzz.d",
						 text, size - 1, SPEC_CTX_NAME,
						 flags & 4 ? (int)ARRAY_LEN(argv) : 1, argv, &prog);

		if (!e) {
			prog_print(prog, &out);
			if (v.env.opts.strsize >= 2 && v.env.opts.strsize <= 4096 && !v.machine)
				run_all(&v, prog);
		}
		err_destroy(e);
	}
	strbuf_deinit(&out);
	eval_deinit(&v);
	return 0;
}
