/* SPDX-License-Identifier: MIT */
/* The loader of the D library by itself: what it has compiled, in which order, and what not. */
#include "library/library.h"

#include <sys/stat.h>

#include "base/str.h"
#include "dtrace.h"
#include "tap.h"

static struct strbuf order; /* names of the files that were compiled */

static struct err *compile(void *ctx, enum d_layer layer, const char *path, const char *text,
			   size_t len)
{
	(void)len;
	is_int(layer, strstr(path, "/own/") ? LAYER_LIBDIR : LAYER_SYSTEM, path);
	strbuf_addf(&order, "%s ", strrchr(path, '/') + 1);
	if (strstr(text, "absent"))
		return err_code(err_new("no such module"), EDT_NOMOD);
	return strstr(text, "wrong") ? err_new("wrong") : NULL;
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		BUG("cannot write %s", path);
}

static struct library *create(struct arena *a, const char *own, const char *sys)
{
	static const char *dirs[1]; /* the library keeps the pointer */
	struct library *l = library_create(a, &(struct library_hooks){.compile = compile});

	dirs[0] = own;
	library_set_opts(l, &(struct library_opts){dirs, own != NULL, sys, false, false});
	strbuf_clear(&order);
	return l;
}

static void check_lazy(struct arena *a, const char *sys)
{
	struct library *l = create(a, NULL, sys);

	ok(!library_load(l) && !order.len, "no file is compiled before its name is used");
	ok(!library_define(l, "NOWHERE", 7) && !order.len, "a name that no file defines");
	ok(library_define(l, "TOP", 3), "a name that a file defines");
	is_str(strbuf_text(&order), "base.d top.d ", "what a file depends on comes first");
	ok(!library_define(l, "TOP", 3), "a file is compiled once");
	ok(!library_define(l, "LACKING", 7) && !library_trouble(l), "a file may be left out");
	is_str(library_nearest(l, "TOPP"), "TOP", "a name that is like it");
	ok(!library_define(l, "BAD", 3), "a file that is wrong defines nothing");
	err_destroy(library_explain(l, NULL));
	struct err *e = library_trouble(l);

	is_str(e ? err_text(e) : "", "failed to compile the D library: wrong", "trouble is kept");
	err_destroy(e);
	ok(!library_trouble(l), "and given once");
	library_destroy(l);
}

static void check_own(struct arena *a, const char *own, const char *sys)
{
	struct library *l = create(a, own, sys);
	struct err *e = library_load(l);

	is_str(e ? err_text(e) : "", "", "files of -L folders");
	is_str(strbuf_text(&order), "base.d mine.d ", "they are compiled before the program");
	library_destroy(l);
	put(own, "ring1.d", "#pragma D depends_on library ring2.d\n");
	put(own, "ring2.d", "#pragma D depends_on library ring1.d\n");
	l = create(a, own, sys);
	e = library_load(l);
	is_str(e ? err_text(e) : "", "Cyclic dependency detected: ring2.d => ring1.d", "a cycle");
	err_destroy(e);
	library_destroy(l);
}

int main(void)
{
	char dir[] = "/tmp/fathom-library-XXXXXX", own[64], sys[64], rm[128];
	struct arena *a = arena_create();

	if (!mkdtemp(dir))
		BUG("mkdtemp");
	(void)snprintf(own, sizeof(own), "%s/own", dir);
	(void)snprintf(sys, sizeof(sys), "%s/sys", dir);
	(void)mkdir(own, 0700);
	(void)mkdir(sys, 0700);
	put(sys, "base.d", "inline int BASE = 1;\n");
	put(sys, "top.d", "#pragma D depends_on library base.d\ninline int TOP = BASE;\n");
	put(sys, "lacking.d", "#pragma D depends_on module absent\ninline int LACKING = 1;\n");
	put(sys, "bad.d", "inline int BAD = wrong;\n");
	put(own, "mine.d", "#pragma D depends_on library base.d\ninline int MINE = BASE;\n");
	check_lazy(a, sys);
	check_own(a, own, sys);
	(void)snprintf(rm, sizeof(rm), "rm -r %s", dir);
	ok(system(rm) == 0, "cleaned up");
	strbuf_deinit(&order);
	arena_destroy(a);
	return tap_done();
}
