/* SPDX-License-Identifier: MIT */
/*
 * Names of classes that no probe has told: the debugger reads them from the process while it runs,
 * new ones once a second. A class may get its name later, and another class its address, so that
 * all classes of the rows are read once more for each report.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mdb/mdb.h"
#include "objects.h"
#include "target/ident.h"

#define NAME_MAX_SIZE 1024u /* bytes of a name that are shown */
#define TRIES_MAX     5	    /* to read a name, before a report asks for it again */

/* A command, and what it has written. */
struct asking {
	struct mdb *debugger;
	struct strbuf out, failure;
};

static bool output_take(void *ctx, const char *text, size_t len)
{
	struct asking *a = ctx;

	if (a->out.len + len > NAME_MAX_SIZE)
		return false;
	strbuf_add(&a->out, text, len);
	return true;
}

static void failure_note(void *ctx, const char *text)
{
	struct asking *a = ctx;

	strbuf_clear(&a->failure);
	strbuf_add(&a->failure, text, strcspn(text, "\n"));
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

static void failure_set(struct objects *o, const char *text)
{
	strbuf_clear(&o->failure);
	look_text_add(&o->failure, text);
}

/*
 * A class that no constant names gets no name now, and keeps the one that it had before. False: it
 * could not be read.
 */
static bool class_ask(struct objects *o, struct asking *a, struct class *c)
{
	char command[64];

	strbuf_clear(&a->out);
	strbuf_clear(&a->failure);
	(void)snprintf(command, sizeof(command), "0x%llx::rbprint", (unsigned long long)c->number);
	if (!mdb_run(a->debugger, command) && a->failure.len) {
		failure_set(o, a->failure.data);
		return false;
	}
	c->is_answered = true;
	if (!a->out.len)
		return true;
	a->out.data[strcspn(a->out.data, "\n")] = '\0';
	if (!is_class_name(a->out.data))
		return true;
	free(c->name);
	c->name = mem_check(strdup(a->out.data));
	return true;
}

void class_note(struct objects *o, uint64_t class)
{
	struct class *c = class_find(o, class);

	if (!c) {
		c = class ? class_add(o, class, NULL) : NULL;
		if (!c)
			return;
		c->is_read = c->is_due = true;
		o->ndue++;
	}
	c->is_in_rows = true;
}

/* Whether it is there, and no other process that has got its id. */
static bool is_there(const struct objects *o)
{
	uint64_t started;

	return look_is_there(o->m->pid) && proc_started(o->m->pid, &started) &&
	       started == o->started;
}

static void classes_read(struct objects *o)
{
	struct asking a = {0};
	const struct mdb_opts opts = {.pid = o->m->pid,
				      .is_running = true,
				      .ctx = &a,
				      .write = output_take,
				      .error = failure_note};
	struct err *e = mdb_open(&opts, &a.debugger);

	if (e) {
		failure_set(o, err_text(e));
		err_destroy(e);
	} else {
		for (size_t i = 0; i < o->nclasses; i++) {
			struct class *c = &o->classes[i];

			if (!c->is_due || (!class_ask(o, &a, c) && ++c->nfailed < TRIES_MAX))
				continue;
			c->is_due = false;
			o->ndue--;
		}
	}
	mdb_close(a.debugger);
	strbuf_deinit(&a.out);
	strbuf_deinit(&a.failure);
}

void classes_ask(struct objects *o, bool is_report)
{
	for (size_t i = 0; i < o->nclasses; i++) {
		struct class *c = &o->classes[i];

		if (is_report && c->is_in_rows && c->is_read && !c->is_due) {
			c->is_due = true;
			c->nfailed = 0;
			o->ndue++;
		}
		c->is_in_rows = false;
	}
	if (!o->ndue)
		return;
	if (is_there(o))
		classes_read(o);
	else
		failure_set(o, "the process has ended");
}

void classes_missing_say(const struct objects *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->nclasses; i++)
		n += o->classes[i].is_read && !o->classes[i].is_answered && !o->classes[i].name;
	if (n)
		say("the name%s of %zu class%s could not be read: %s", PLURAL(n), n,
		    WORD_FOR(n, "", "es"), strbuf_text(&o->failure));
}
