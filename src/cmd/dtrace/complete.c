/* SPDX-License-Identifier: MIT */
/*
 * Prints the candidates for completion that a shell offers at Tab (completion/), one a line.
 *
 * `dtrace --complete=KIND:TEXT` prints the candidates that begin with TEXT. KIND is
 *
 *     probe       TEXT is the beginning of a description "provider:module:function:name"
 *     provider, module, function, name   one field of a description, as -P, -m, -f and -n take it
 *     option      TEXT is the beginning of an option of -x, and a tab and what it does follow; or
 *                 "NAME=" and the beginning of a value, which is one of a few words
 *     word        TEXT is the beginning of a name of the language; a tab and what it is follow
 *
 * A shell puts the candidate into the command line of a user who may be root, and the names of
 * probes come from programs of anybody. So candidates that a shell could take for more than a word
 * are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#define NFIELDS 4

struct candidates {
	const char *text; /* the candidates begin with this */
	const char *head; /* printed before a field: the fields of the description before it */
	size_t headlen;
	int field;	 /* the field that is completed */
	bool is_partial; /* a colon follows the field */
	char **names;	 /* sorted at the end; candidates may be there several times before */
	size_t n, room;
};

/* Whether a name has only characters that mean nothing special to a shell. */
static bool is_plain(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			   "_-.,:+@%/")] == '\0' &&
	       s[0] != '-';
}

static void candidate_add(struct candidates *cs, const char *name)
{
	if (!name[0] || !is_plain(name))
		return;
	/* Probes are listed provider by provider: most repetitions follow each other. */
	if (cs->n && strcmp(cs->names[cs->n - 1], name) == 0)
		return;
	if (cs->n == cs->room) {
		cs->room = cs->room ? 2 * cs->room : 256;
		cs->names = realloc(cs->names, cs->room * sizeof(*cs->names));
	}
	cs->names[cs->n] = cs->names ? strdup(name) : NULL;
	if (!cs->names || !cs->names[cs->n]) {
		fputs("dtrace: no memory for candidates\n", stderr);
		exit(E_ERROR);
	}
	cs->n++;
}

static int probe_add(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pd, void *arg)
{
	const char *const fields[NFIELDS] = {pd->dtpd_provider, pd->dtpd_mod, pd->dtpd_func,
					     pd->dtpd_name};
	struct candidates *cs = arg;

	(void)dtp;
	candidate_add(cs, fields[cs->field]);
	return 0;
}

static int text_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void candidates_print(struct cmd *c, struct candidates *cs)
{
	if (!cs->n)
		return;
	qsort(cs->names, cs->n, sizeof(*cs->names), text_compare);
	for (size_t i = 0; i < cs->n; i++)
		if (!i || strcmp(cs->names[i], cs->names[i - 1]) != 0)
			fprintf(c->out, "%.*s%s%s\n", (int)cs->headlen, cs->head, cs->names[i],
				cs->is_partial ? ":" : "");
	for (size_t i = 0; i < cs->n; i++)
		free(cs->names[i]);
	free(cs->names);
}

/* Completes the last of the fields that text has; the fields before it stay as they are. */
static void probes_complete(struct cmd *c, const char *text, int only)
{
	char fields[NFIELDS][256] = {""}, *last;
	struct candidates cs = {.head = text};
	dtrace_probedesc_t desc;
	const char *colon;

	if (only >= 0)
		cs.field = only;
	for (; only < 0 && (colon = strchr(text, ':')); text = colon + 1) {
		size_t len = (size_t)(colon - text);

		if (cs.field == NFIELDS - 1 || len >= sizeof(fields[0]))
			return;
		memcpy(fields[cs.field], text, len);
		fields[cs.field++][len] = '\0';
	}
	cs.headlen = (size_t)(text - cs.head);
	cs.is_partial = only < 0 && cs.field < NFIELDS - 1;
	last = fields[cs.field];
	if (strlen(text) + 2 > sizeof(fields[0]))
		return;
	(void)snprintf(last, sizeof(fields[0]), "%s*", text);
	desc = (dtrace_probedesc_t){
		.dtpd_provider = fields[0],
		.dtpd_mod = fields[1],
		.dtpd_func = fields[2],
		.dtpd_name = fields[3],
	};
	if (dtrace_probe_iter(c->dtp, &desc, probe_add, &cs) < 0)
		return; /* a shell that completes has no use for a message */
	candidates_print(c, &cs);
}

/* The names in one list that begin with text. */
struct beginning {
	FILE *fp;
	const char *text;
};

static void name_print(const struct beginning *b, const char *name, const char *what)
{
	if (strncmp(name, b->text, strlen(b->text)) == 0)
		fprintf(b->fp, "%s\t%s\n", name, what);
}

static int option_print(const dtrace_optdesc_t *opt, void *arg)
{
	if (!opt->is_ignored)
		name_print(arg, opt->name, opt->what);
	return 0;
}

/*
 * Prints the values that an option may have, if these are words: whoever sets it to another text is
 * told, in the hint of the error.
 */
static void values_print(struct cmd *c, const char *text)
{
	size_t len = (size_t)(strchr(text, '=') - text);
	const char *hint, *value = text + len + 1;
	char name[64];

	if (len >= sizeof(name))
		return;
	memcpy(name, text, len);
	name[len] = '\0';
	hint = dtrace_setopt(c->dtp, name, "?") ? dtrace_errhint(c->dtp) : NULL;
	if (!hint || strncmp(hint, "one of: ", 8) != 0)
		return;
	for (hint += 8; *hint; hint += strspn(hint, ", ")) {
		size_t n = strcspn(hint, ", ");

		if (strncmp(hint, value, strlen(value)) == 0)
			fprintf(c->out, "%s=%.*s\n", name, (int)n, hint);
		hint += n;
	}
}

static int builtin_print(const dtrace_builtin_t *builtin, void *arg)
{
	name_print(arg, builtin->name, builtin->what);
	return 0;
}

int cmd_complete(struct cmd *c, const char *request)
{
	static const char *const fields[NFIELDS] = {"provider", "module", "function", "name"};
	const char *text = strchr(request, ':');
	size_t len = text ? (size_t)(text++ - request) : 0;
	struct beginning b = {c->out, text};

	if (len == strlen("probe") && strncmp(request, "probe", len) == 0)
		probes_complete(c, text, -1);
	else if (len == strlen("option") && strncmp(request, "option", len) == 0 &&
		 strchr(text, '='))
		values_print(c, text);
	else if (len == strlen("option") && strncmp(request, "option", len) == 0)
		dtrace_option_iter(c->dtp, option_print, &b);
	else if (len == strlen("word") && strncmp(request, "word", len) == 0)
		dtrace_builtin_iter(c->dtp, builtin_print, &b);
	else
		for (int i = 0; i < NFIELDS; i++)
			if (len == strlen(fields[i]) && strncmp(request, fields[i], len) == 0)
				probes_complete(c, text, i);
	return E_SUCCESS;
}
