/* SPDX-License-Identifier: MIT */
/*
 * A compile environment with nothing around the compiler: every description matches one probe, and
 * there are no types, symbols or libraries.
 */
#pragma once

#include "d/compile.h"

static struct err *alone_match(void *ctx, const struct probe_desc *desc, uint32_t *ret_count)
{
	*ret_count = 1;
	return NULL;
}

static const char *alone_hint(void *ctx, const struct probe_desc *desc)
{
	return NULL;
}

static int alone_arg_types(void *ctx, const struct probe_desc *desc, const char *const **ret_types)
{
	*ret_types = NULL;
	return 0;
}

static struct err *alone_set_option(void *ctx, const char *name, const char *value)
{
	return NULL;
}

static bool alone_macro(void *ctx, const char *name, int64_t *ret_value)
{
	return false;
}

static const struct compile_env alone_env = {
	.match = alone_match,
	.hint = alone_hint,
	.arg_types = alone_arg_types,
	.set_option = alone_set_option,
	.macro = alone_macro,
};

static inline struct err *alone_compile(struct dsession *s, const struct compile_opts *opts,
					const char *text, struct prog **ret_prog)
{
	return dsession_compile(s, opts, &alone_env, SOURCE_FILE, "test.d", text, strlen(text),
				SPEC_CTX_NAME, 0, NULL, ret_prog);
}
