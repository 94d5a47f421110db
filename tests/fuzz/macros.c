/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: macro arguments. The lines of the input are the arguments of a script that uses them
 * in every place where a macro may stand; the first byte chooses among the options that change
 * their meaning.
 */
#include "../unit/d/check_env.h"

#define ARGS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char script[] =
	"BEGIN { trace($1); trace($$1); trace($2 + 1); trace($$2); trace($0); trace($$0); x[$3] = $4; }\n"
	"syscall::$5:entry, tick-$6, profile-$7ms /$target == $1/ { @[$$3] = quantize($1); printf($$4); }\n"
	"$2 y; $$3 z; inline int five = $5; struct $6 { int $1; };\n"
	"BEGIN { self->$1 = $$7; trace(curthread->$2); trace(sizeof($3)); trace($9); trace($nosuch); }\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *text = xcalloc(1, size + 1);
	static char name[] = "fuzz.d";
	char *argv[ARGS_MAX + 1] = {name}, *line, *save = NULL;
	uint8_t flags = size ? data[0] : 0;
	struct check_env env;
	struct prog *prog;
	int argc = 1;

	if (!size)
		return 0;
	memcpy(text, data + 1, size - 1);
	for (line = strtok_r(text, "\n", &save); line && argc <= ARGS_MAX;
	     line = strtok_r(NULL, "\n", &save))
		argv[argc++] = line;
	check_env_init(&env);
	env.opts.defaultargs = flags & 1;
	env.opts.argref = flags & 2;
	env.opts.zdefs = true;
	/* every line of the script for itself, so that one refusal does not hide the others */
	for (const char *p = script; *p;) {
		size_t len = strcspn(p, "\n") + 1;

		err_destroy(dsession_compile(env.session, &env.opts, &env.env,
					     flags & 4 ? SOURCE_STRING : SOURCE_FILE, "fuzz.d", p,
					     len, SPEC_CTX_NAME, argc, argv, &prog));
		p += len;
	}
	check_env_deinit(&env);
	return 0;
}
