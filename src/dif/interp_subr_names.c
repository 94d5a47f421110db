/* SPDX-License-Identifier: MIT */
/* Subroutines that name numbers: errors, signals, flags. Semantics: top of interp_subr.c. */
#include "dif/interp_impl.h"
#include "dif/names.h"

static uint64_t number_name(struct dif_machine *m, enum name_list_id id, uint64_t number)
{
	const struct name_list *l = &name_lists[id];
	uint64_t row = (int64_t)number < 0 ? 0 - number : number;

	if (row >= l->n)
		return subr_lltostr(m, (const uint64_t[]){number, 10});
	mem_add_region(m, l->text, l->n * l->stride, false);
	return mem_addr(l->text + row * l->stride);
}

uint64_t subr_strerrno(struct dif_machine *m, const uint64_t *v)
{
	return number_name(m, NAMES_ERRNO, v[0]);
}

uint64_t subr_strerror(struct dif_machine *m, const uint64_t *v)
{
	return number_name(m, NAMES_ERROR, v[0]);
}

uint64_t subr_strsignal(struct dif_machine *m, const uint64_t *v)
{
	return number_name(m, NAMES_SIGNAL, v[0]);
}

static void flag_append(struct strbuf *text, const char *name)
{
	strbuf_addf(text, "%s%s", text->len ? "|" : "", name);
}

uint64_t subr_strflags(struct dif_machine *m, const uint64_t *v)
{
	uint64_t first = FLAG_ROWS_FIRST(v[0]), n = FLAG_ROWS_N(v[0]), addr;
	uint32_t rest = (uint32_t)v[1];
	struct strbuf text = {0};
	char number[16];

	if (first > nflag_names || n > nflag_names - first)
		return dif_fault(m, DIF_FAULT_ILLOP, 0);
	for (const struct flag_name *f = &flag_names[first]; n && text.len < m->strsize; f++, n--) {
		if ((rest & f->mask) != f->value)
			continue;
		flag_append(&text, f->name);
		rest &= ~f->mask;
	}
	(void)snprintf(number, sizeof(number), rest ? "0x%x" : "0", rest);
	if (rest || !text.len)
		flag_append(&text, number);
	addr = subr_result(m, text.data, text.len);
	strbuf_deinit(&text);
	return addr;
}
