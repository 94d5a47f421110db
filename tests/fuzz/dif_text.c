/* SPDX-License-Identifier: MIT */
/* Fuzz target: DIF text is parsed, verified, printed, parsed again and executed without any memory.
 */
#include "dif/interp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What prints must parse to an object that prints the same. */
static void check_round_trip(struct arena *a, const struct difo *d)
{
	struct strbuf first = {0}, second = {0};
	struct difo *again = NULL;
	struct err *e;

	difo_print_asm(d, &first);
	e = difo_parse(a, strbuf_text(&first), &again);
	if (e)
		BUG("printed DIF does not parse: %s", err_text(e));
	difo_print_asm(again, &second);
	if (strcmp(strbuf_text(&first), strbuf_text(&second)) != 0)
		BUG("printed DIF is not stable");
	strbuf_clear(&second);
	difo_print(d, &second);
	strbuf_deinit(&first);
	strbuf_deinit(&second);
}

static void check_run(const struct difo *d)
{
	struct dif_machine_opts opts = {.strsize = 32};
	struct dif_machine *m = dif_machine_create(&dif_env_none, &opts);

	for (uint64_t thread = 0; thread < 2; thread++) {
		struct dif_result r;

		dif_machine_begin_firing(m, thread);
		r = dif_run(m, d);
		if (r.fault && (r.offset / 4 >= d->code_len || r.value))
			BUG("fault %d at %u", (int)r.fault, r.offset);
	}
	dif_machine_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create();
	struct difo *d = NULL;
	struct err *e = difo_parse(a, arena_strndup(a, (const char *)data, size), &d);

	if (!e) {
		check_round_trip(a, d);
		e = difo_verify(d, DIF_MAX_REGS);
		if (!e)
			check_run(d);
	}
	err_destroy(e);
	arena_destroy(a);
	return 0;
}
