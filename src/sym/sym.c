/* SPDX-License-Identifier: MIT */
/*
 * The handle: passes lookups on to the table of the kernel, which is read at the first lookup, and
 * to the tables of processes.
 */
#include "sym/sym.h"

#include <inttypes.h>

#include "base/str.h"
#include "image/debugfile.h"
#include "sym/ksym.h"
#include "sym/usym.h"

struct syms {
	struct ksyms kernel;
	bool is_kernel_read;
	struct usyms users;
	void (*notice)(void *ctx, const char *msg);
	void (*denied)(void *ctx, uint64_t pid);
	void *ctx;
	bool is_forgetting_told, is_shedding_told;
};

struct syms *syms_create(void)
{
	struct syms *s = xcalloc(1, sizeof(*s));

	usyms_init(&s->users);
	return s;
}

void syms_destroy(struct syms *s)
{
	if (!s)
		return;
	ksyms_deinit(&s->kernel);
	usyms_deinit(&s->users);
	free(s);
}

void syms_on_notice(struct syms *s, void (*notice)(void *ctx, const char *msg),
		    void (*denied)(void *ctx, uint64_t pid), void *ctx)
{
	s->notice = notice;
	s->denied = denied;
	s->ctx = ctx;
}

static struct ksyms *kernel_get(struct syms *s)
{
	struct err *e;

	if (s->is_kernel_read)
		return &s->kernel;
	s->is_kernel_read = true;
	e = ksyms_read(&s->kernel);
	if (e && s->notice) {
		struct strbuf text = {0};

		strbuf_adds(&text, err_text(e));
		if (err_get_hint(e))
			strbuf_addf(&text, "\nhint: %s", err_get_hint(e));
		s->notice(s->ctx, strbuf_text(&text));
		strbuf_deinit(&text);
	}
	err_destroy(e);
	return &s->kernel;
}

/*
 * Notifies the user that processes were forgotten, but only once: a session that lasts for months
 * forgets processes all the time.
 */
static void forgotten_tell(struct syms *s)
{
	struct strbuf text = {0};

	if (s->is_forgetting_told || !s->notice)
		return;
	s->is_forgetting_told = true;
	strbuf_addf(
		&text,
		"addresses have no names: of processes that ended long ago, the mappings of %" PRIu64
		" were forgotten to save memory",
		s->users.procs.nforgotten);
	s->notice(s->ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* The same for files whose names were shed, and that cannot be read again. */
static void given_up_tell(struct syms *s)
{
	struct strbuf text = {0};

	if (s->is_shedding_told || !s->notice)
		return;
	s->is_shedding_told = true;
	strbuf_addf(&text,
		    "addresses have no names: those of %" PRIu32
		    " programs or libraries were forgotten to save memory, and the files are gone\n"
		    "hint: -x namesize=%" PRIu64 "m keeps more of them",
		    s->users.procs.files.ngiven_up,
		    s->users.procs.files.opts.images->max_bytes >> 19);
	s->notice(s->ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

bool syms_find(struct syms *s, uint64_t pid, taddr addr, struct sym_name *ret)
{
	bool found;

	if (!pid)
		return ksyms_find(kernel_get(s), addr, ret);
	found = usyms_find(&s->users, pid, addr, ret);
	if (s->denied && s->users.is_denied)
		s->denied(s->ctx, pid);
	if (s->users.is_forgotten)
		forgotten_tell(s);
	if (s->users.is_given_up)
		given_up_tell(s);
	return found;
}

bool syms_find_caller(struct syms *s, uint64_t pid, taddr addr, struct sym_name *ret)
{
	if (!addr || !syms_find(s, pid, addr - 1, ret) || !ret->name)
		return syms_find(s, pid, addr, ret);
	ret->off++;
	ret->file_addr++;
	return true;
}

bool syms_line(struct syms *s, uint64_t pid, taddr addr, struct sym_line *ret)
{
	return pid && usyms_line(&s->users, pid, addr, ret);
}

taddr syms_start(struct syms *s, uint64_t pid, taddr addr, bool of_object)
{
	return pid ? usyms_start(&s->users, pid, addr, of_object)
		   : ksyms_start(kernel_get(s), addr, of_object);
}

void syms_set_opts(struct syms *s, const struct sym_opts *opts)
{
	struct ufiles *files = &s->users.procs.files;

	if (s->users.is_raw != opts->is_raw)
		ufiles_forget_found(files);
	s->users.is_raw = opts->is_raw;
	ufiles_set_opts(files, opts->files);
	opts->files->images->max_bytes = opts->max_bytes ? opts->max_bytes : IMAGES_MEMORY_DEFAULT;
}

/* ---- processes ------------------------------------------------------------------------------ */

void syms_see(struct syms *s, uint64_t pid)
{
	(void)uproc_get(&s->users.procs, pid);
}

void syms_tick(struct syms *s)
{
	uprocs_tick(&s->users.procs);
}

void syms_at(struct syms *s, uint64_t time)
{
	s->users.time = time;
}

uint64_t syms_time(const struct syms *s)
{
	return s->users.time;
}

void syms_lost(struct syms *s)
{
	uprocs_lost(&s->users.procs);
}

void syms_watch_begin(struct syms *s)
{
	uprocs_begin(&s->users.procs);
}

void syms_forked(struct syms *s, uint64_t pid, uint64_t parent, uint64_t time)
{
	uprocs_forked(&s->users.procs, pid, parent, time);
}

void syms_execed(struct syms *s, uint64_t pid, uint64_t time)
{
	uprocs_execed(&s->users.procs, pid, time);
}

void syms_mapped(struct syms *s, uint64_t pid, const struct sym_map *m, uint64_t time)
{
	uprocs_mapped(&s->users.procs, pid, m, time);
}

void syms_ended(struct syms *s, uint64_t pid, uint64_t time)
{
	uprocs_ended(&s->users.procs, pid, time);
}

uint64_t syms_target(struct syms *s, struct target *t)
{
	return uprocs_target(&s->users.procs, t);
}

/* ---- the kernel ----------------------------------------------------------------------------- */

void syms_trim(struct syms *s, const char **pcs, uint32_t *n)
{
	while (*n) {
		taddr pc;

		memcpy(&pc, *pcs, sizeof(pc));
		if (!ksyms_is_tracing(kernel_get(s), pc))
			break;
		*pcs += sizeof(pc);
		--*n;
	}
}

const uint64_t *syms_tracing(struct syms *s, uint32_t *ret_n)
{
	struct ksyms *k = kernel_get(s);

	ksyms_tracing(k);
	*ret_n = k->tracing.len / 2;
	return k->tracing.data;
}

/* ---- what is kept --------------------------------------------------------------------------- */

void syms_describe(const struct syms *s, struct strbuf *out)
{
	const struct uprocs *p = &s->users.procs;

	strbuf_addf(out,
		    "%zu process ids, %" PRIu32 " processes that have ended (%" PRIu64
		    " were forgotten); %zu files, %" PRIu32 " of them open, %" PRIu64
		    " KiB of names (those of %" PRIu32 " files were freed, of %" PRIu32
		    " given up); %zu root directories of containers (%" PRIu64 " were closed)",
		    hashmap_count(p->procs), p->nended, p->nforgotten,
		    hashmap_count(p->files.files), p->files.opts.images->nopen,
		    p->files.opts.images->bytes / 1024, p->files.opts.images->nshed,
		    p->files.ngiven_up, hashmap_count(p->roots.open), p->roots.nclosed);
}
