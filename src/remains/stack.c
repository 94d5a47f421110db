/* SPDX-License-Identifier: MIT */
/* User stacks as records and keys have them: words, of which some name frames (record/format.h). */
#include "remains/impl.h"

struct writer {
	struct remains_run *r;
	struct strbuf *out;
	uint32_t frames, left; /* frames that may follow; bytes for texts */
};

static void word_add(struct writer *w, uint64_t word)
{
	strbuf_add(w->out, (const char *)&word, sizeof(word));
}

/* Adds a text of a frame; false: there is no room for it. */
static bool text_add(struct writer *w, const char *text, uint64_t bits)
{
	size_t n = strlen(text);

	if (!n || n >= w->left)
		return false;
	w->left -= (uint32_t)n + 1;
	word_add(w, side_add(w->r->strings, text, n, RT_USTACK_NAME) | bits);
	return true;
}

static void native_add(struct writer *w, const struct frame *f, bool is_lang)
{
	if (is_lang) {
		if (f->text && !f->is_stub && text_add(w, f->text, RT_USTACK_LANG))
			w->frames--;
		return;
	}
	word_add(w, f->pc | (f->is_return ? 0 : RT_USTACK_EXACT));
	w->frames--;
	if (f->text)
		(void)text_add(w, f->text, 0);
}

void stack_words_add(struct remains_run *r, uint32_t frames, uint32_t strsize, bool is_lang,
		     struct strbuf *out)
{
	struct writer w = {.r = r, .out = out, .frames = frames, .left = strsize};
	const struct stack *s = r->event.stack;
	uint32_t i = r->event.frame;

	word_add(&w, r->m->named);
	for (; s && i < s->frames.len && w.frames; i++) {
		const struct frame *f = &s->frames.data[i];

		if (f->kind == REPLAY_NATIVE)
			native_add(&w, f, is_lang);
		else if (f->text && text_add(&w, f->text, RT_USTACK_LANG))
			w.frames--;
	}
	if (s && s->is_cut && i == s->frames.len && w.frames && !is_lang)
		word_add(&w, RT_USTACK_CUT);
}
