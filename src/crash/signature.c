/* SPDX-License-Identifier: MIT */
/* Finds which frames of a stack say what has happened. */
#include "crash/signature.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/text.h"
#include "mdb/lang.h"
#include "sym/sym.h"

#define WHERE_FRAMES 2

static const char *const runtimes[] = {
	"beam",	   "java",   "libjvm",	  "liblua",  "libluajit", "libnode",
	"libperl", "libphp", "libpython", "libruby", "libv8",	  "lua",
	"luajit",  "node",   "perl",	  "php",     "python3",	  "ruby",
};

static const char *const libraries[] = {"ld-linux",  "libc.",	   "libpthread",
					"libstdc++", "linux-vdso", "[vdso]"};

/* Of the libraries: what ends a process, and what starts a thread. */
static const char *const ends[] = {
	"_Exit",
	"__GI_",
	"__abort",
	"__assert",
	"__chk_fail",
	"__cxa_rethrow",
	"__cxa_throw",
	"__fortify_fail",
	"__kernel_",
	"__libc_",
	"__pthread_kill",
	"__restore_rt",
	"__stack_chk_fail",
	"__terminate",
	"_dl_",
	"_int_free",
	"_int_malloc",
	"abort",
	"clone",
	"gsignal",
	"kill",
	"malloc_",
	"pthread_kill",
	"raise",
	"start_thread",
	"std::terminate",
	"tgkill",
	"__gnu_cxx::__verbose_terminate_handler",
	"__cxxabiv1::__terminate",
};

static bool frame_is_internal(const struct sym_name *name, bool has_language)
{
	if (name->name && strcmp(name->name, "_start") == 0)
		return true;
	if (!name->object)
		return has_language;
	if (has_language && text_begins(name->object, runtimes, ARRAY_LEN(runtimes)))
		return true;
	return text_begins(name->object, libraries, ARRAY_LEN(libraries)) &&
	       (!name->name || text_begins(name->name, ends, ARRAY_LEN(ends)));
}

static void name_of(struct mdb *m, const struct frame *f, struct sym_name *ret)
{
	*ret = (struct sym_name){0};
	if (f->is_return)
		(void)syms_find_caller(m->syms, m->named, f->pc, ret); /* nothing is known then */
	else
		(void)syms_find(m->syms, m->named, f->pc, ret);
}

/* Adds what a frame counts as; false: it is left out. */
static bool frame_add(struct mdb *m, const struct frame *f, bool has_language, bool is_all,
		      struct strbuf *out)
{
	struct strbuf file = {0};
	struct sym_name name;

	if (f->kind == REPLAY_LANGUAGE) {
		lang_frame_split(f->text, out, &file);
		strbuf_deinit(&file);
		return true;
	}
	name_of(m, f, &name);
	if (!is_all && frame_is_internal(&name, has_language))
		return false;
	if (name.name)
		strbuf_addf(out, "%s`%s", name.object ? name.object : "", name.name);
	else if (name.has_file_addr && name.object)
		strbuf_addf(out, "%s`+0x%" PRIx64, name.object, name.file_addr);
	else
		return false; /* an address differs from run to run */
	return true;
}

/* Adds a frame for people: "seg`inner+0xe seg.c:8", "leaf obj.js:27". */
static void where_add(struct mdb *m, const struct frame *f, struct strbuf *out)
{
	struct strbuf file = {0};
	struct sym_line line;

	if (out->len)
		strbuf_adds(out, " <- ");
	if (f->kind == REPLAY_LANGUAGE) {
		const char *comma;

		lang_frame_split(f->text, out, &file);
		comma = file.len ? strstr(file.data, ", line ") : NULL;
		if (comma)
			file.data[comma - file.data] = '\0';
		if (file.len)
			strbuf_addf(out, " %s", basename(file.data));
		if (comma)
			strbuf_addf(out, ":%s", comma + strlen(", line "));
		strbuf_deinit(&file);
		return;
	}
	frame_name_add(m, f, out);
	if (syms_line(m->syms, m->named, f->pc - f->is_return, &line))
		strbuf_addf(out, " %s:%u", basename(line.file), line.line);
}

void signature_make(struct mdb *m, const struct stack *stack, int signal, const char *build,
		    struct signature *ret)
{
	uint32_t n = stack ? stack->frames.len : 0;
	struct strbuf text = {0};
	bool has_language = false;

	*ret = (struct signature){0};
	for (uint32_t i = 0; i < n; i++)
		has_language |= stack->frames.data[i].kind == REPLAY_LANGUAGE;
	strbuf_addf(&text, "%d\n%s\n", signal, build);
	/* where all frames are internal ones, all count */
	for (int all = 0; all < 2 && !ret->frames.len; all++) {
		for (uint32_t i = 0; i < n && ret->frames.len < SIGNATURE_FRAMES; i++) {
			if (!frame_add(m, &stack->frames.data[i], has_language, all, &text))
				continue;
			strbuf_addc(&text, '\n');
			vec_push(&ret->frames, i);
		}
	}
	for (uint32_t i = 0; i < MIN(ret->frames.len, (uint32_t)WHERE_FRAMES); i++)
		where_add(m, &stack->frames.data[ret->frames.data[i]], &ret->where);
	(void)snprintf(ret->hash, sizeof(ret->hash), "%016" PRIx64,
		       fnv_64(FNV_64, strbuf_text(&text), text.len));
	strbuf_deinit(&text);
}

void signature_deinit(struct signature *s)
{
	vec_deinit(&s->frames);
	strbuf_deinit(&s->where);
}
