/* SPDX-License-Identifier: MIT */
/*
 * Names of classes that no probe has told: the debugger reads them from the process, which stands
 * still for a moment. Each class is asked for once, because those without a name stay without.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "mdb/mdb.h"
#include "objects.h"

#define NAME_MAX_SIZE 1024u /* bytes of a name that are shown */

/* What a command has written. */
static bool output_take(void *ctx, const char *text, size_t len)
{
	struct strbuf *b = ctx;

	if (b->len + len > NAME_MAX_SIZE)
		return false;
	strbuf_add(b, text, len);
	return true;
}

/* Such a class keeps its address in the rows. */
static void error_drop(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
}

/* "Shop::Order": what is no name of a constant is the value of something else. */
static bool is_class_name(const char *text)
{
	bool begins = true;

	for (; *text; text++) {
		if (begins && !isupper((unsigned char)*text) && !((unsigned char)*text & 0x80))
			return false;
		begins = text[0] == ':' && text[1] == ':';
		if (begins)
			text++;
		else if (!isalnum((unsigned char)*text) && *text != '_' &&
			 !((unsigned char)*text & 0x80))
			return false;
	}
	return !begins;
}

static void class_ask(struct objects *o, struct mdb *debugger, struct strbuf *out, uint64_t class)
{
	char command[64];

	strbuf_clear(out);
	(void)snprintf(command, sizeof(command), "0x%llx::rbprint", (unsigned long long)class);
	if (!mdb_run(debugger, command) || !out->len)
		return;
	out->data[strcspn(out->data, "\n")] = '\0';
	if (is_class_name(out->data))
		class_add(o, class, out->data);
}

void class_note(struct objects *o, uint64_t class)
{
	for (size_t i = 0; i < o->nasked; i++)
		if (o->asked[i] == class)
			return;
	if (!class || class_is_known(o, class) || o->nasked == CLASSES_MAX)
		return;
	o->asked = mem_check(realloc(o->asked, (o->nasked + 1) * sizeof(*o->asked)));
	o->asked[o->nasked++] = class;
}

void classes_ask(struct objects *o)
{
	struct strbuf out = {0};
	const struct mdb_opts opts = {.pid = o->m->pid,
				      .ctx = &out,
				      .write = output_take,
				      .error = error_drop};
	struct mdb *debugger;
	struct err *e;

	if (o->nanswered == o->nasked)
		return;
	e = mdb_open(&opts, &debugger);
	if (!e) {
		for (size_t i = o->nanswered; i < o->nasked; i++)
			class_ask(o, debugger, &out, o->asked[i]);
		mdb_close(debugger);
	}
	err_destroy(e); /* it has ended */
	o->nanswered = o->nasked;
	strbuf_deinit(&out);
}
