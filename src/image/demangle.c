/* SPDX-License-Identifier: MIT */
/*
 * Demangling by libiberty, the library that binutils and gdb use: it knows C++ and both of Rust's
 * schemes, and bounds its recursion.
 *
 * Names come from foreign files, and a short mangled name can describe a text of terabytes: each
 * part of the name may refer to an earlier part twice. libiberty passes the text to a callback
 * piece by piece. When the text gets too long, the callback leaves libiberty with longjmp(). That
 * is safe, because its callback interface is made for signal handlers and allocates no memory; only
 * its Rust half allocates the text of an identifier in Punycode, which is then leaked.
 */
#include "image/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

#include "base/str.h"
#include "base/text.h"

#define STYLE (DMGL_ANSI | DMGL_AUTO)

struct sink {
	char text[DEMANGLED_MAX];
	size_t len;
	jmp_buf too_long;
};

static void sink_add(const char *piece, size_t len, void *ctx)
{
	struct sink *s = ctx;

	if (len >= sizeof(s->text) - s->len)
		longjmp(s->too_long, 1);
	memcpy(s->text + s->len, piece, len);
	s->len += len;
}

/* Fills s; false if name is not a valid mangled name, or its text would be too long. */
static bool demangle_into(struct sink *s, const char *name, int flags)
{
	s->len = 0;
	if (setjmp(s->too_long))
		return false;
	if (!rust_demangle_callback(name, STYLE | flags, sink_add, s)) {
		s->len = 0;
		if (!cplus_demangle_v3_callback(name, STYLE | flags, sink_add, s))
			return false;
	}
	return s->len > 0;
}

bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static const char *demangle_as(struct arena *a, const char *name, int flags)
{
	size_t dots = strcspn(name, "@");
	CLEANUP(free) char *bare = NULL;
	struct sink *s;

	if (!is_mangled(name))
		return name;
	bare = xstrdup(name);
	bare[dots] = '\0'; /* libiberty does not know suffixes such as that of "_ZdlPv@plt" */
	s = xcalloc(1, sizeof(*s));
	if (demangle_into(s, bare, flags))
		name = text_clean(arena_printf(a, "%.*s%s", (int)s->len, s->text, name + dots));
	free(s);
	return name;
}

const char *demangle(struct arena *a, const char *name)
{
	return demangle_as(a, name, DMGL_PARAMS | DMGL_RET_DROP);
}

const char *demangle_bare(struct arena *a, const char *name)
{
	return demangle_as(a, name, 0);
}
