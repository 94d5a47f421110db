/* SPDX-License-Identifier: MIT */
/* What pictures do with everything that they do not show (picture.h). */
#include "render/picture.h"

#include <inttypes.h>

#include "base/text.h"

#define TITLE_MAX 72 /* columns of a title that is the text of a program */

/* Whether text goes to a file of freopen(), beside the picture. */
static bool has_text(const struct printer *p)
{
	return printer_redirect(p) != NULL;
}

void picture_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			  const struct rt_rec *next)
{
	if (has_text(p))
		render_text.record_begin(p, pt, cpu, next);
}

void picture_record_end(struct printer *p, bool is_quiet)
{
	if (has_text(p))
		render_text.record_end(p, is_quiet);
}

void picture_value(struct printer *p, const struct datum *d)
{
	if (has_text(p))
		render_text.value(p, d);
	else
		p->render->rest(p)->nitems++;
}

void picture_memory(struct printer *p, const char *action, const struct datum *d)
{
	if (has_text(p))
		render_text.memory(p, action, d);
	else
		p->render->rest(p)->nitems++;
}

void picture_typed(struct printer *p, const struct shape *shape, const struct datum *d)
{
	if (has_text(p))
		render_text.typed(p, shape, d);
	else
		p->render->rest(p)->nitems++;
}

struct err *picture_message(struct printer *p, const struct act_layout *al, const struct fmt *fmt)
{
	if (has_text(p))
		return render_text.message(p, al, fmt);
	p->render->rest(p)->nitems++;
	return NULL;
}

void picture_command(struct printer *p, const char *command, const struct strbuf *text, int status)
{
	if (has_text(p))
		strbuf_add(&p->out, strbuf_text(text), text->len);
	else
		p->render->rest(p)->nitems += text->len > 0;
}

void picture_notice(struct printer *p, const struct print_notice *n)
{
	page_note(p->render->notes(p), true, "%s", n->msg);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Adds a text as one line, cut where it is long. */
static void line_add(struct strbuf *o, const char *text)
{
	uint32_t ncolumns = 0;

	while (is_blank(*text))
		text++;
	for (size_t n; *text; text += n, ncolumns++) {
		n = MAX(utf8_get(text, strlen(text), NULL), 1);
		if (is_blank(*text) && (is_blank(text[1]) || !text[1]))
			continue;
		if (ncolumns == TITLE_MAX) {
			strbuf_adds(o, "\xe2\x80\xa6");
			return;
		}
		if (is_blank(*text))
			strbuf_addc(o, ' ');
		else
			strbuf_add(o, text, n);
	}
}

void picture_title(const struct printer *p, struct strbuf *o)
{
	const struct print_program *prog = p->programs;
	const char *slash;

	while (prog && !prog->is_script)
		prog = prog->next;
	if (prog) {
		slash = strrchr(prog->name, '/');
		strbuf_adds(o, slash && slash[1] ? slash + 1 : prog->name);
	} else if (p->programs) {
		line_add(o, p->programs->text);
	}
	if (!o->len)
		strbuf_adds(o, "dtrace");
}

static void rest_text(struct strbuf *o, const struct picture_rest *rest)
{
	if (rest->nitems)
		strbuf_addf(o, "%" PRIu64 " message%s or value%s", rest->nitems,
			    PLURAL(rest->nitems), PLURAL(rest->nitems));
	if (rest->nitems && rest->ntables)
		strbuf_adds(o, " and ");
	if (rest->ntables)
		strbuf_addf(o, "%" PRIu64 " table%s", rest->ntables, PLURAL(rest->ntables));
	strbuf_adds(o, " that the program printed cannot be shown in this form of output: "
		       "oformat=html shows everything.");
}

void picture_rest_note(struct printer *p, const struct picture_rest *rest, struct page_notes *notes)
{
	struct strbuf text = {0};

	if (rest->nitems || rest->ntables) {
		rest_text(&text, rest);
		page_note(notes, false, "%s", text.data);
		if (p->hooks.notice)
			p->hooks.notice(p->hooks.ctx, text.data);
	}
	strbuf_deinit(&text);
}
