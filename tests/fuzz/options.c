/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: options and control lines. Each line of the input is set as an option (name, or
 * name=value), outside and inside a program, and stands behind "#pragma D " and behind "#" in a
 * script.
 */
#include "../unit/d/check_env.h"
#include "session/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An option is taken or refused with a reason. */
static void set_line(struct options *o, char *line, bool in_pragma)
{
	char *value = strchr(line, '=');
	struct err *e;

	if (value)
		*value++ = '\0';
	e = options_set(o, line, value, in_pragma);
	if (e && !*err_text(e))
		BUG("no reason");
	err_destroy(e);
}

static void set_all(const char *text)
{
	CLEANUP(free) char *copy = xstrdup(text);
	char *line, *save = NULL;
	struct options o;

	options_init(&o);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		o.is_active = line[0] == '!'; /* as setopt() meets it */
		set_line(&o, line + o.is_active, strlen(line) % 2);
	}
	options_deinit(&o);
}

static void compile_lines(const char *prefix, const char *text)
{
	CLEANUP(free) char *copy = xstrdup(text);
	struct strbuf script = {0};
	char *line, *save = NULL;
	struct check_env env;
	struct prog *prog;

	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		strbuf_addf(&script, "%s%s\n", prefix, line);
	strbuf_adds(&script, "BEGIN { x = 1; trace(x); }\n");
	check_env_init(&env);
	err_destroy(check_env_compile(&env, strbuf_text(&script), &prog));
	check_env_deinit(&env);
	strbuf_deinit(&script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *text = xcalloc(1, size + 1);

	memcpy(text, data, size);
	set_all(text);
	compile_lines("#pragma D ", text);
	compile_lines("#pragma D option ", text);
	compile_lines("#", text);
	return 0;
}
