/* SPDX-License-Identifier: MIT */
/* Properties of objects, and values as their language writes them. */
#include "dif/remains_subrs.h"
#include "mdb/lang.h"
#include "remains/impl.h"

/* A property that is no number is 0; of one that has a fraction, it is cut off. */
static int64_t number_of(const char *text)
{
	char *end;
	long long whole = strtoll(text, &end, 10);

	return end == text ? 0 : (int64_t)whole;
}

enum dif_fault remains_subr(void *ctx, uint32_t subr, const uint64_t *v, const char *const *texts,
			    uint64_t *ret, const char **ret_text)
{
	struct remains_run *r = ctx;
	const struct value_style style = {.depth = 2,
					  .items = 20,
					  .text = r->layout->strsize,
					  .is_one_line = true};
	struct lang l;
	struct err *e = lang_of_word(r->m, v[0], &l);
	bool is_text = subr == REMAINS_SUBR_LPROP || subr == REMAINS_SUBR_LTEXT;

	*ret = 0;
	strbuf_clear(&r->answer);
	if (!e && subr == REMAINS_SUBR_LTEXT)
		lang_value_add(r->m, &l, v[0], &style, &r->answer);
	else if (!e)
		lang_member_text_add(r->m, &l, v[0], texts[1] ? texts[1] : "", &style, &r->answer);
	err_destroy(e); /* what is no value has no properties */
	if (is_text)
		*ret_text = strbuf_text(&r->answer);
	else
		*ret = (uint64_t)number_of(strbuf_text(&r->answer));
	return DIF_FAULT_NONE;
}
