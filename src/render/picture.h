/* SPDX-License-Identifier: MIT */
/*
 * What the renderers of pictures share: a picture shows some aggregations, and no text. What the
 * program prints besides is counted in struct picture_rest; into a file of freopen(), it is printed
 * as text.
 *
 * Errors   struct err *: a record that its layout does not fit.
 */
#pragma once

#include "picture/page.h"
#include "render/impl.h"

struct picture_rest {
	uint64_t nitems;  /* messages, values, outputs of commands */
	uint64_t ntables; /* aggregations that are no such picture */
};

void picture_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			  const struct rt_rec *next);
void picture_record_end(struct printer *p, bool is_quiet);
void picture_value(struct printer *p, const struct datum *d);
void picture_memory(struct printer *p, const char *action, const struct datum *d);
void picture_typed(struct printer *p, const struct shape *shape, const struct datum *d);
MUST_CHECK struct err *picture_message(struct printer *p, const struct act_layout *al,
				       const struct fmt *fmt);
void picture_command(struct printer *p, const char *command, const struct strbuf *text, int status);
void picture_notice(struct printer *p, const struct print_notice *n);

/*
 * Adds what a picture is called: the name of the script's file, else the begin of the program's
 * text.
 */
void picture_title(const struct printer *p, struct strbuf *o);

/* The members of a struct renderer that all pictures have. */
#define PICTURE_CALLS                                                                              \
	.record_begin = picture_record_begin, .record_end = picture_record_end,                    \
	.value = picture_value, .memory = picture_memory, .typed = picture_typed,                  \
	.message = picture_message, .command = picture_command, .notice = picture_notice

/* Writes below the picture, and to the handler of notices, what is not in it and what is wrong. */
void picture_rest_note(struct printer *p, const struct picture_rest *rest,
		       struct page_notes *notes);
