/* SPDX-License-Identifier: MIT */
/* Parses commands. */
#include "mdb/command.h"

#include <ctype.h>

#include "base/str.h"

void command_deinit(struct command *c)
{
	for (uint32_t i = 0; i < c->stages.len; i++) {
		struct stage *s = &c->stages.data[i];

		for (uint32_t k = 0; k < s->args.len; k++)
			free(s->args.data[k]);
		vec_deinit(&s->args);
		free(s->name);
	}
	vec_deinit(&c->stages);
	free(c->shell);
	*c = (struct command){0};
}

static void blanks_skip(const char **at)
{
	while (**at == ' ' || **at == '\t' || **at == '\r')
		(*at)++;
}

static bool is_comment(const char *p)
{
	return p[0] == '/' && p[1] == '/';
}

static bool is_end(const char *p)
{
	return !*p || *p == ';' || *p == '\n' || is_comment(p);
}

static void line_skip(const char **at)
{
	while (**at && **at != '\n')
		(*at)++;
}

bool command_more(const char **at)
{
	for (;;) {
		blanks_skip(at);
		if (is_comment(*at))
			line_skip(at);
		else if (**at == ';' || **at == '\n')
			(*at)++;
		else
			return **at;
	}
}

void command_skip(const char **at)
{
	line_skip(at);
}

static char *text_copy(const char *from, size_t len)
{
	char *text = xmalloc(len + 1);

	memcpy(text, from, len);
	text[len] = '\0';
	return text;
}

/* Whether a stage's words or format end here. "!=" is an operator of an expression. */
static bool is_stage_end(const char *p)
{
	return !*p || *p == ';' || *p == '\n' || *p == '|' || (*p == '!' && p[1] != '=');
}

/* Reads a word, without its quotes. */
static struct err *word_read(const char **at, char **ret)
{
	struct strbuf word = {0};
	char quote = '\0';
	const char *p = *at;

	strbuf_adds(&word, "");
	for (; *p && *p != '\n'; p++) {
		if (quote && *p == quote) {
			quote = '\0';
		} else if (!quote && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else if (quote == '"' && *p == '\\' && (p[1] == '"' || p[1] == '\\')) {
			strbuf_addc(&word, *++p);
		} else if (!quote && (isspace((unsigned char)*p) || is_stage_end(p))) {
			break;
		} else {
			strbuf_addc(&word, *p);
		}
	}
	if (quote) {
		strbuf_deinit(&word);
		return err_new("the quote %c is not closed", quote);
	}
	*at = p;
	*ret = xstrdup(strbuf_text(&word));
	strbuf_deinit(&word);
	return NULL;
}

static struct err *words_read(const char **at, struct stage *s)
{
	struct err *e = NULL;

	for (blanks_skip(at); !e && !is_stage_end(*at) && !is_comment(*at); blanks_skip(at)) {
		char *word = NULL;

		e = word_read(at, &word);
		if (!e)
			vec_push(&s->args, word);
	}
	return e;
}

static struct err *dcmd_read(const char **at, struct stage *s)
{
	const char *p = *at + 2;
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '?')
		n++;
	if (!n)
		return err_new("the name of a command is missing behind '::'");
	*s = (struct stage){.kind = STAGE_DCMD, .name = text_copy(p, n)};
	*at = p + n;
	return words_read(at, s);
}

static struct err *dollar_read(const char **at, struct stage *s)
{
	if (!isgraph((unsigned char)(*at)[1]))
		return err_new("a letter is missing behind '$'");
	*s = (struct stage){.kind = STAGE_DCMD, .name = text_copy(*at, 2)};
	*at += 2;
	return words_read(at, s);
}

static struct err *format_read(const char **at, struct stage *s)
{
	size_t n = 0;

	*s = (struct stage){.kind = **at == '/' ? STAGE_READ : STAGE_SHOW};
	(*at)++;
	blanks_skip(at);
	while (!is_stage_end(*at + n) &&
	       !(n && isspace((unsigned char)(*at)[n - 1]) && is_comment(*at + n)))
		n++;
	s->name = text_copy(*at, n);
	*at += n;
	while (n && isspace((unsigned char)s->name[n - 1]))
		s->name[--n] = '\0';
	return NULL;
}

static struct err *assign_read(const char **at, struct stage *s)
{
	size_t n = 0;

	(*at)++;
	while (expr_is_name_char((*at)[n]))
		n++;
	if (!n)
		return err_new("the name of a variable is missing behind '>'");
	*s = (struct stage){.kind = STAGE_ASSIGN, .name = text_copy(*at, n)};
	*at += n;
	return NULL;
}

static struct err *stage_read(const char **at, struct command *c)
{
	const char *p = *at;
	struct stage s = {0};
	struct err *e;

	if (p[0] == ':' && p[1] == ':')
		e = dcmd_read(at, &s);
	else if (*p == '$')
		e = dollar_read(at, &s);
	else if (*p == '/' || *p == '=')
		e = format_read(at, &s);
	else if (*p == '>')
		e = assign_read(at, &s);
	else
		e = err_new("'%c' begins no command", isprint((unsigned char)*p) ? *p : '?');
	if (s.name)
		vec_push(&c->stages, s);
	blanks_skip(at);
	return e;
}

static struct err *shell_read(const char **at, struct command *c)
{
	size_t n = 0;

	(*at)++;
	blanks_skip(at);
	while ((*at)[n] && (*at)[n] != '\n')
		n++;
	if (!n)
		return err_new("a command of the shell is missing behind '!'");
	c->shell = text_copy(*at, n);
	*at += n;
	return NULL;
}

/* "help" and "?" are words of people who do not know the language yet. */
static bool help_read(const char **at, struct command *c)
{
	size_t n = **at == '?' ? 1 : strncmp(*at, "help", 4) == 0 ? 4 : 0;
	const char *p = *at + n;

	blanks_skip(&p);
	if (!n || !is_end(p))
		return false;
	vec_push(&c->stages, (struct stage){.kind = STAGE_DCMD, .name = xstrdup("help")});
	*at = p;
	return true;
}

static struct err *address_read(const char **at, const struct expr_env *env, struct command *c)
{
	struct err *e;

	if (!expr_begins(*at))
		return NULL;
	e = expr_read(at, env, &c->addr);
	if (e)
		return e;
	c->has_addr = true;
	blanks_skip(at);
	if (**at != ',')
		return NULL;
	(*at)++;
	e = expr_read(at, env, &c->count);
	c->has_count = !e;
	blanks_skip(at);
	return e;
}

struct err *command_read(const char **at, const struct expr_env *env, struct command *ret)
{
	struct command c = {0};
	struct err *e;

	if (help_read(at, &c)) {
		*ret = c;
		return NULL;
	}
	e = address_read(at, env, &c);
	if (!e && !is_end(*at) && !(**at == '!' && !c.has_addr))
		e = stage_read(at, &c);
	while (!e && **at == '|') {
		(*at)++;
		blanks_skip(at);
		e = stage_read(at, &c);
	}
	if (!e && **at == '!')
		e = shell_read(at, &c);
	if (!e && !is_end(*at))
		e = err_new("what begins with '%c' does not belong here",
			    isprint((unsigned char)**at) ? **at : '?');
	if (e) {
		command_deinit(&c);
		return e;
	}
	*ret = c;
	return NULL;
}
