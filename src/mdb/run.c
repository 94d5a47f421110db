/* SPDX-License-Identifier: MIT */
/* Executes commands: addresses, pipes, formats, and the output of both. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "mdb/impl.h"

#define REPEAT_MAX 1000000u /* repetitions of a format */

typedef VEC(uint64_t) values;

static void error_tell(struct mdb *m, const char *where, const struct err *e)
{
	const char *hint = err_get_hint(e);
	struct strbuf text = {0};

	m->has_failed = true;
	strbuf_addf(&text, "%s%s%s", where, *where ? ": " : "", err_text(e));
	if (hint)
		strbuf_addf(&text, "\nhint: %s", hint);
	m->opts.error(m->opts.ctx, strbuf_text(&text));
	log_write(m, strbuf_text(&text), text.len);
	log_write(m, "\n", 1);
	strbuf_deinit(&text);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Gives what commands have written to a command of the shell, which writes where we do. */
static struct err *shell_run(struct mdb *m, const char *command)
{
	FILE *to;

	(void)fflush(NULL);
	to = popen(command, "we");
	if (!to)
		return err_sys(errno, "cannot run the shell");
	(void)fwrite(strbuf_text(&m->out.text), 1, m->out.text.len, to); /* it may end early */
	strbuf_clear(&m->out.text);
	return pclose(to) >= 0 ? NULL : err_sys(errno, "cannot wait for the shell");
}

static void output_flush(struct mdb *m)
{
	log_write(m, strbuf_text(&m->out.text), m->out.text.len);
	if (m->out.text.len &&
	    !m->opts.write(m->opts.ctx, strbuf_text(&m->out.text), m->out.text.len))
		m->is_interrupted = 1;
	strbuf_clear(&m->out.text);
}

/* ---- calls of commands ----------------------------------------------------------------------- */

static struct err *usage_add(const struct dcmd *d, struct err *e)
{
	return err_hint(e, "usage: %s", d->synopsis);
}

/* Sorts the words of a stage into options and arguments; *argv has room for all. */
static struct err *words_sort(const struct dcmd *d, const struct stage *s, struct call *c,
			      char **argv)
{
	bool is_over = false;

	for (uint32_t i = 0; i < s->args.len; i++) {
		char *word = s->args.data[i];

		if (is_over || word[0] != '-' || !word[1]) {
			argv[c->argc++] = word;
			continue;
		}
		is_over = strcmp(word, "--") == 0;
		for (const char *p = word + 1; *p && !is_over; p++) {
			const char *known = *p == ':' ? NULL : strchr(d->opts, *p);

			if (!known || (unsigned char)*p >= ARRAY_LEN(c->opts))
				return usage_add(d, err_new("there is no option '-%c'",
							    *p > ' ' && *p < 0x7f ? *p : '?'));
			c->opts[(unsigned char)*p] = "";
			if (known[1] != ':')
				continue;
			if (p[1])
				c->opts[(unsigned char)*p] = p + 1;
			else if (i + 1 < s->args.len)
				c->opts[(unsigned char)*p] = s->args.data[++i];
			else
				return usage_add(d, err_new("the option '-%c' needs a value", *p));
			break;
		}
	}
	c->argv = argv;
	return NULL;
}

static struct err *call_check(const struct call *c)
{
	const struct dcmd *d = c->dcmd;

	if (c->argc < d->min_args)
		return usage_add(d, err_new("an argument is missing"));
	if (c->argc > d->max_args)
		return usage_add(d, err_new("there are too many arguments"));
	if (c->has_count && !(d->flags & DCMD_COUNT))
		return usage_add(d, err_new("it takes no count"));
	return NULL;
}

/* Calls a command: once, or for each value of the stage before it. */
static struct err *dcmd_call(struct mdb *m, const struct command *cmd, const struct stage *s,
			     const values *in)
{
	const struct dcmd *d = dcmd_find(s->name);
	CLEANUP(free) char **argv = xcalloc(s->args.len + 1, sizeof(*argv));
	struct call c = {.dcmd = d, .is_first = true, .is_last = true};
	uint32_t n = in ? in->len : 1;
	struct err *e;

	if (!d)
		return err_hint(err_new("unknown command"), "::dcmds lists the commands");
	e = words_sort(d, s, &c, argv);
	if (!in) {
		c.has_addr = cmd->has_addr;
		c.addr = cmd->addr;
		c.has_count = cmd->has_count;
		c.count = cmd->count;
	}
	if (!e)
		e = call_check(&c);
	if (!e && !in && !c.has_addr && (d->flags & DCMD_ADDR))
		e = usage_add(d, err_new("it needs an address"));
	if (!e && (in || c.has_addr) && (d->flags & DCMD_NO_ADDR))
		e = usage_add(d, err_new("it takes no address"));
	for (uint32_t i = 0; !e && i < n && !m->is_interrupted; i++) {
		if (in) {
			c.has_addr = true;
			c.addr = in->data[i];
			c.is_first = i == 0;
			c.is_last = i + 1 == n;
		}
		if (c.has_addr)
			m->dot = c.addr;
		e = d->run(m, &c);
	}
	return e;
}

/* ---- formats --------------------------------------------------------------------------------- */

static struct err *format_once(struct mdb *m, const struct stage *s, struct format_place *at)
{
	const struct format_env env = mdb_format_env(m);
	struct strbuf text = {0}, name = {0};
	uint64_t from = at->addr;
	struct err *e = format_print(s->name, &env, at, &text);

	if (e && !text.len) {
		strbuf_deinit(&text);
		return e;
	}
	emit_row(&m->out);
	emit_value(&m->out, s->kind == STAGE_READ ? from : at->last);
	if (!env.name(m, from, &name) || s->kind == STAGE_SHOW) {
		strbuf_clear(&name);
		strbuf_addf(&name, "0x%" PRIx64, from);
	}
	if (s->kind == STAGE_READ) {
		strbuf_addc(&name, ':');
		emit_say(&m->out, "%-15s ", strbuf_text(&name));
	} else {
		emit_say(&m->out, "%16s", "");
	}
	emit_say(&m->out, "%s", strbuf_text(&text));
	emit_addr(&m->out, "address", from, 0);
	emit_str(&m->out, "text", strbuf_text(&text), 0);
	emit_end(&m->out);
	strbuf_deinit(&text);
	strbuf_deinit(&name);
	return e;
}

/* Without a format, "/" and "=" print a word of the target in hexadecimal. */
static struct err *format_run(struct mdb *m, const struct command *cmd, const struct stage *s,
			      const values *in)
{
	struct stage shown = {.kind = s->kind, .name = *s->name ? s->name : (char *)"K"};
	uint32_t n = in ? in->len : 1;
	uint64_t times = !in && cmd->has_count ? cmd->count : 1;
	struct err *e = NULL;

	if (times > REPEAT_MAX)
		return err_new("the count is greater than %u", REPEAT_MAX);
	for (uint32_t i = 0; i < n; i++) {
		struct format_place at = {.is_value = s->kind == STAGE_SHOW};

		at.addr = in ? in->data[i] : cmd->has_addr ? cmd->addr : m->dot;
		m->dot = at.addr;
		for (uint64_t k = 0; !e && k < times && !m->is_interrupted; k++) {
			if (s->kind == STAGE_READ)
				m->dot = at.addr;
			at.nvalue = 0;
			e = format_once(m, &shown, &at);
			m->last = at.last;
		}
		if (s->kind == STAGE_READ && at.addr > m->dot)
			m->increment = at.addr - m->dot;
	}
	return e;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void variable_set(struct mdb *m, const char *name, uint64_t value)
{
	for (uint32_t i = 0; i < m->variables.len; i++) {
		if (strcmp(m->variables.data[i].name, name) != 0)
			continue;
		m->variables.data[i].value = value;
		return;
	}
	vec_push(&m->variables, (struct variable){xstrdup(name), value});
}

static struct err *variable_assign(struct mdb *m, const struct command *cmd, const struct stage *s,
				   const values *in)
{
	if (in)
		variable_set(m, s->name, in->len ? in->data[in->len - 1] : 0);
	else
		variable_set(m, s->name, cmd->has_addr ? cmd->addr : m->dot);
	return NULL;
}

static const char *verb_of(const struct stage *s)
{
	switch (s->kind) {
	case STAGE_READ: return "/";
	case STAGE_SHOW: return "=";
	case STAGE_ASSIGN: return ">";
	case STAGE_DCMD: break;
	}
	return s->name;
}

static struct err *stage_run(struct mdb *m, const struct command *cmd, const struct stage *s,
			     const values *in)
{
	switch (s->kind) {
	case STAGE_DCMD: return dcmd_call(m, cmd, s, in);
	case STAGE_READ:
	case STAGE_SHOW: return format_run(m, cmd, s, in);
	case STAGE_ASSIGN: return variable_assign(m, cmd, s, in);
	}
	BUG("stage %d", (int)s->kind);
}

/* Runs one stage of a command; in: the values of the one before it. False: it has failed. */
static bool stage_finish(struct mdb *m, const struct command *cmd, uint32_t i, const values *in)
{
	const struct stage *s = &cmd->stages.data[i];
	CLEANUP(free) char *name = text_clean(xstrdup(verb_of(s)));
	struct strbuf where = {0};
	struct err *e;

	m->out.is_piped = i + 1 < cmd->stages.len;
	emit_begin(&m->out, name);
	e = stage_run(m, cmd, s, in);
	if (!e && m->is_interrupted)
		e = err_new("interrupted");
	emit_finish(&m->out, e ? err_text(e) : NULL);
	if (!e)
		return true;
	strbuf_addf(&where, "%s%s", s->kind == STAGE_DCMD && *name != '$' ? "::" : "", name);
	if (!cmd->shell)
		output_flush(m);
	error_tell(m, strbuf_text(&where), e);
	strbuf_deinit(&where);
	err_destroy(e);
	return false;
}

static void stages_run(struct mdb *m, const struct command *cmd)
{
	values in = {0};
	bool is_good = true;

	for (uint32_t i = 0; i < cmd->stages.len && is_good; i++) {
		m->out.piped.data = NULL;
		m->out.piped.len = m->out.piped.cap = 0;
		is_good = stage_finish(m, cmd, i, i ? &in : NULL);
		vec_deinit(&in);
		in = (values){m->out.piped.data, m->out.piped.len, m->out.piped.cap};
	}
	vec_deinit(&in);
	m->out.piped.data = NULL;
	m->out.piped.len = m->out.piped.cap = 0;
	m->out.is_piped = false;
}

static void command_run(struct mdb *m, const struct command *cmd)
{
	struct err *e;

	if (cmd->has_addr && !cmd->stages.len)
		m->dot = cmd->addr;
	if (cmd->has_addr)
		m->last = cmd->addr;
	stages_run(m, cmd);
	if (cmd->shell) {
		e = shell_run(m, cmd->shell);
		if (e)
			error_tell(m, "!", e);
		err_destroy(e);
	}
	output_flush(m);
}

bool run_text(struct mdb *m, const char *text)
{
	const char *at = text;

	while (!m->is_over && !m->is_interrupted && command_more(&at)) {
		const char *line = at, *begin = at;
		struct expr_env env = mdb_expr_env(m);
		struct command cmd;
		struct strbuf where = {0};
		struct err *e;

		while (line > text && line[-1] != '\n')
			line--;
		e = command_read(&at, &env, &cmd);
		log_command(m, begin, (size_t)(e ? strcspn(begin, "\n") : (size_t)(at - begin)));
		if (!e) {
			command_run(m, &cmd);
			command_deinit(&cmd);
			continue;
		}
		strbuf_addf(&where, "column %d", (int)(at - line) + 1);
		error_tell(m, strbuf_text(&where), e);
		strbuf_deinit(&where);
		err_destroy(e);
		command_skip(&at);
	}
	return !m->has_failed;
}
