/* SPDX-License-Identifier: MIT */
/*
 * Attaches the probes of code, with few links for all instructions of one file.
 *
 * Attaching and detaching cost a grace period of the kernel for each link, not for each instruction
 * (providers.md 1.2). The keeper makes the links (keeper/keeper.h).
 */
#include <errno.h>
#include <inttypes.h>

#include "bpf/attach.h"
#include "base/text.h"
#include "keeper/keeper.h"
#include "kernel/quota.h"
#include "target/code.h"
#include "image/insn.h"
#include "target/maps.h"
#include "image/text.h"
#include "files/gate.h"

/*
 * The instructions of one link are attached together or not at all, and a signal can end attaching
 * only between two links: so a link gets as many instructions as take about PIECE_NS. One
 * instruction takes 2 to 50 us, which depends on how many processes have mapped the file.
 */
#define PIECE_NS    100000000
#define PIECE_FIRST 1024
#define PIECE_MIN   512
#define PIECE_MAX   KEEPER_SITES_MAX
#define REFUSED_MAX 8
#define SINGLE_MAX  512 /* the kernel takes 100 ms and more to remove each: providers.md 1.2 */
/* Linux include/linux/errno.h: the kernel cannot probe the instruction */
#define KERNEL_ENOTSUPP 524

/* An instruction that is to be probed. */
struct uprobe {
	const struct place_file *file;
	uint64_t off, cookie;
	uint64_t counter_off; /* as in struct place_site */
	pid_t pid, at;	      /* as in struct place_code */
	uint8_t turn;	      /* enum turn */
	bool is_exact;
	bool is_returned; /* as in struct place_site */
	bool is_placed;
};

/*
 * The kernel runs the probes of one instruction in the reverse order of their attachment (Linux
 * kernel/events/uprobes.c, consumer_add()). A function that is nothing but a return is entered
 * before it returns.
 */
enum turn { TURN_RETURN, TURN_OTHER, TURN_ENTRY };

static enum turn turn_of(enum code_spot spot)
{
	switch (spot) {
	case SPOT_ENTRY:
	case SPOT_ENTRY32:
	case SPOT_ENTRY_STACK:
	case SPOT_ENTRY_GO:
	case SPOT_ENTRY_NONE: return TURN_ENTRY;
	case SPOT_RETURN:
	case SPOT_RETURN_GO:
	case SPOT_RETURN_NONE: return TURN_RETURN;
	case SPOT_RETURNED:
	case SPOT_INSN:
	case SPOT_CALL:
	case SPOT_USDT:
	case SPOT_COUNT: break;
	}
	return TURN_OTHER;
}

static int by_file(const void *pa, const void *pb)
{
	const struct uprobe *a = pa, *b = pb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->file != b->file)
		return (uintptr_t)a->file < (uintptr_t)b->file ? -1 : 1;
	if (a->is_returned != b->is_returned)
		return a->is_returned - b->is_returned;
	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	if (a->turn != b->turn)
		return a->turn - b->turn;
	return (a->cookie > b->cookie) - (a->cookie < b->cookie);
}

typedef VEC(struct uprobe) uprobe_vec;

static void uprobes_collect(const struct unit *u, uprobe_vec *ret)
{
	for (uint32_t i = 0; i < u->nprobes; i++) {
		const struct place_code *c = u->probes[i].code;

		for (uint32_t k = 0; k < c->sites.len; k++) {
			const struct place_site *s = &c->sites.data[k];

			vec_push(ret, (struct uprobe){.file = s->file,
						      .off = s->off,
						      .counter_off = s->counter_off,
						      .is_returned = s->is_returned,
						      .turn = turn_of(u->probes[i].spot),
						      .cookie = UPROBE_COOKIE(u->probes[i].key,
									      s->rel, s->is_tail),
						      .pid = c->pid,
						      .at = c->at,
						      .is_exact = c->is_exact});
		}
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_file);
}

/* Counts how many of the first n instructions are in the file and process of the first one. */
static uint32_t same_file_count(const struct uprobe *p, uint32_t n)
{
	uint32_t k = 1;

	while (k < n && p[k].pid == p[0].pid && p[k].file == p[0].file)
		k++;
	return k;
}

/* ---- an attempt ------------------------------------------------------------------------------ */

struct attempt {
	int prog_fd;
	const struct attach_opts *opts;
	struct keeper *keeper;
	uint32_t piece;	   /* instructions of the next link */
	uint32_t nrefused; /* instructions found to be refused in this file */
	pid_t maps_of;	   /* the process that `maps` was read from; 0 = none */
	struct proc_maps maps;
};

static struct err *attempt_begin(struct attempt *at, struct attachments *a)
{
	struct err *e = attachments_keeper(a, &at->keeper);

	if (!e)
		keeper_set_group(at->keeper, at->opts->group);
	return e;
}

static void attempt_end(struct attempt *at)
{
	if (at->keeper) {
		keeper_set_group(at->keeper, 0);
		keeper_set_process(at->keeper, 0, 0);
	}
	if (at->maps_of)
		proc_maps_deinit(&at->maps);
}

/*
 * Returns what the process has mapped; NULL when it has ended. The caller has an id only; if
 * another process has it by now, its instructions differ from the file's, or are the same.
 */
static const struct proc_maps *attempt_maps(struct attempt *at, pid_t pid)
{
	struct err *e;

	if (at->maps_of == pid)
		return &at->maps;
	if (at->maps_of)
		proc_maps_deinit(&at->maps);
	at->maps_of = 0;
	e = proc_maps_read(pid, &at->maps);
	if (!e)
		at->maps_of = pid;
	err_destroy(e); /* the process has ended, and its part of the run ends with it */
	return e ? NULL : &at->maps;
}

static bool is_interrupted(const struct attempt *at)
{
	return at->opts->is_interrupted && *at->opts->is_interrupted;
}

/* Passes the text to the notice function, if there is one, and frees the text. */
static void notice_give(const struct attempt *at, struct strbuf *text)
{
	if (at->opts->notice)
		at->opts->notice(at->opts->notice_ctx, strbuf_text(text));
	strbuf_deinit(text);
}

/* ---- code that differs from the file --------------------------------------------------------- */

static struct err *code_changed_err(const struct uprobe *p, enum code_state state)
{
	if (state == CODE_BREAKPOINT)
		return err_hint(
			err_new("process %d is being debugged and has a breakpoint at offset "
				"%" PRIx64 " of '%s'",
				(int)p->at, p->off, p->file->name),
			"take the breakpoint away or let the process go");
	if (state == CODE_MOVED)
		return err_hint(err_new("process %d does not execute offset %" PRIx64
					" of '%s': a jump of another tracer leads around it",
					(int)p->at, p->off, p->file->name),
				"end that tracer first, or probe another place");
	return err_hint(err_new("process %d has changed its code at offset %" PRIx64
				" of '%s': a probe "
				"there would bring back what the file has",
				(int)p->at, p->off, p->file->name),
			"probe another function");
}

/*
 * The bytes of the file from up to CODE_BEFORE_MAX bytes before an instruction to its end; NULL:
 * the file has none there.
 */
static const uint8_t *uprobe_bytes(struct text *text, const struct uprobe *p, uint32_t *ret_before,
				   uint32_t *ret_len)
{
	const uint8_t *code = text_at(text, p->off, 1);
	size_t room = code ? text->len - (size_t)(p->off - text->off) : 0;

	if (!code)
		return NULL;
	*ret_len = MAX(insn_len(code, room, p->file->is_32bit), 1u);
	*ret_before = (uint32_t)MIN(p->off, (uint64_t)CODE_BEFORE_MAX);
	return text_at(text, p->off - *ret_before, *ret_before + *ret_len);
}

/* Compares the instruction with the file in all mappings of it. */
static enum code_state uprobe_state(struct code_check *c, const struct proc_maps *maps,
				    struct text *text, const struct uprobe *p)
{
	uint32_t before, len;
	const uint8_t *code = uprobe_bytes(text, p, &before, &len);
	enum code_state state = CODE_SAME;

	for (uint32_t i = 0; i < maps->maps.len && code && state == CODE_SAME; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		taddr addr = m->start + (p->off - m->off);
		uint32_t mapped;

		if (!m->is_exec || !proc_map_is_of(m, &p->file->inode) || p->off < m->off ||
		    p->off - m->off >= m->end - m->start)
			continue;
		mapped = (uint32_t)MIN(p->off - m->off, (uint64_t)before);
		state = code_check_at(c, addr, code + before, len);
		if (state == CODE_SAME && !p->file->is_32bit &&
		    code_is_moved(c, addr, code + before - mapped, mapped, len))
			state = CODE_MOVED;
	}
	return state;
}

/* Drops the instructions of one file that differ in the memory of the process. */
static struct err *drop_changed(struct attempt *at, struct uprobe *p, uint32_t *n)
{
	const struct proc_maps *maps = p->at ? attempt_maps(at, p->at) : NULL;
	struct text text = {.file = p->file->opened};
	struct strbuf notice = {0};
	struct code_check c;
	struct err *e = NULL;
	uint32_t kept = 0, nmoved = 0;

	if (!maps)
		return NULL;
	code_check_init(&c, p->at);
	for (uint32_t i = 0; i < *n && !e; i++) {
		enum code_state state = uprobe_state(&c, maps, &text, &p[i]);

		nmoved += state == CODE_MOVED;
		if (state == CODE_SAME)
			p[kept++] = p[i];
		else if (p[i].is_exact)
			e = code_changed_err(&p[i], state);
	}
	code_check_deinit(&c);
	text_deinit(&text);
	if (!e && kept < *n) {
		strbuf_addf(&notice,
			    "%" PRIu32
			    " place%s in '%s' %s left out: process %d has changed its code "
			    "there, or is being debugged%s",
			    *n - kept, PLURAL(*n - kept), p->file->name,
			    WORD_FOR(*n - kept, "is", "are"), (int)p->at,
			    nmoved ? ", or jumps of another tracer lead around them" : "");
		notice_give(at, &notice);
	}
	*n = kept;
	return e;
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Returns true if the kernel refuses to probe an instruction that passed our own checks. */
static bool is_about_insn(const struct err *e)
{
	int sys = err_get_sys(e);

	return sys == KERNEL_ENOTSUPP || sys == EINVAL || sys == EIO || sys == EILSEQ ||
	       sys == ENOEXEC;
}

static void mark_placed(struct uprobe *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		p[i].is_placed = true;
}

static struct err *attach_once(const struct attempt *at, const struct uprobe *p, uint32_t n)
{
	CLEANUP(free) uint64_t *offsets = xcalloc(n, sizeof(*offsets));
	CLEANUP(free) uint64_t *cookies = xcalloc(n, sizeof(*cookies));
	CLEANUP(free) uint64_t *counters = xcalloc(n, sizeof(*counters));
	struct uprobe_sites sites = {.offsets = offsets,
				     .cookies = cookies,
				     .n = n,
				     .is_returned = p->is_returned};
	pid_t filter = feat_has(FEAT_UPROBE_TGID) ? p->at : 0;

	for (uint32_t i = 0; i < n; i++) {
		offsets[i] = p[i].off;
		cookies[i] = p[i].cookie;
		counters[i] = p[i].counter_off;
		if (counters[i])
			sites.counters = counters;
	}
	return keeper_uprobe_multi(at->keeper, at->prog_fd, gate_file_fd(p->file->opened), filter,
				   &sites);
}

static struct err *attach_failed(const struct uprobe *p, uint32_t n, struct err *e)
{
	if (!p->at)
		return err_wrap(e, "cannot place %" PRIu32 " probe%s in '%s'", n, PLURAL(n),
				p->file->path);
	return err_wrap(e, "cannot place %" PRIu32 " probe%s in '%s' of process %d", n, PLURAL(n),
			p->file->path, (int)p->at);
}

/*
 * If one instruction is refused, the kernel refuses the whole link: then each half is tried, until
 * the instruction is alone. It is left out, unless the user has named it.
 */
static struct err *attach_link(struct attempt *at, struct uprobe *p, uint32_t n)
{
	struct err *e = attach_once(at, p, n);

	if (!e || err_get_sys(e) == ESRCH) {
		/* the process has ended, and its part of the run ends with it; others go on */
		err_destroy(e);
		mark_placed(p, n);
		return NULL;
	}
	if (err_get_sys(e) == EINTR && is_interrupted(at)) {
		err_destroy(e); /* the keeper is not waited for any more */
		return NULL;
	}
	if (!is_about_insn(e) || (n == 1 && p->is_exact) || at->nrefused >= REFUSED_MAX)
		return attach_failed(p, n, e);
	err_destroy(e); /* the refusal of the single instruction is reported */
	if (n == 1) {
		at->nrefused++;
		return NULL;
	}
	e = attach_link(at, p, n / 2);
	return e ? e : attach_link(at, p + n / 2, n - n / 2);
}

static struct err *attach_pieces(struct attempt *at, struct uprobe *p, uint32_t n)
{
	struct err *e = NULL;

	for (uint32_t i = 0, k; i < n && !e && !is_interrupted(at); i += k) {
		uint64_t before = now_ns(), took;

		k = MIN(at->piece, n - i);
		e = attach_link(at, p + i, k);
		took = MAX(now_ns() - before, (uint64_t)1);
		at->piece = (uint32_t)MIN(MAX(k * (uint64_t)PIECE_NS / took, (uint64_t)PIECE_MIN),
					  (uint64_t)PIECE_MAX);
	}
	return e;
}

/* Makes one link for each instruction, on kernels without links for many. */
static struct err *attach_singly(struct attempt *at, struct uprobe *p, uint32_t n)
{
	for (uint32_t i = 0; i < n && !is_interrupted(at); i++) {
		struct err *e =
			keeper_uprobe(at->keeper, at->prog_fd, gate_file_fd(p->file->opened), p->at,
				      p[i].off, p[i].cookie, p[i].counter_off, p[i].is_returned);

		if (e && err_get_sys(e) == ESRCH) {
			err_destroy(e); /* the process has ended */
			return NULL;
		}
		if (e && err_get_sys(e) == EINTR && is_interrupted(at)) {
			err_destroy(e); /* as in attach_link() */
			return NULL;
		}
		if (e && is_about_insn(e) && !p[i].is_exact) {
			err_destroy(e); /* counted */
			at->nrefused++;
			continue;
		}
		if (e)
			return attach_failed(&p[i], 1, e);
		mark_placed(&p[i], 1);
	}
	return at->nrefused == n ? attach_failed(p, n, err_new("the kernel refuses them all"))
				 : NULL;
}

static struct err *attach_file(struct attempt *at, struct uprobe *p, uint32_t n)
{
	bool is_multi = feat_has(FEAT_UPROBE_MULTI);
	struct strbuf notice = {0};
	struct err *e;

	at->nrefused = 0;
	e = is_multi ? attach_pieces(at, p, n) : attach_singly(at, p, n);
	if (!e && is_multi && at->nrefused) {
		strbuf_addf(&notice,
			    "%" PRIu32 " place%s in '%s' %s left out: the kernel refuses %s",
			    at->nrefused, PLURAL(at->nrefused), p->file->name,
			    WORD_FOR(at->nrefused, "is", "are"),
			    WORD_FOR(at->nrefused, "it", "them"));
		notice_give(at, &notice);
	}
	return e;
}

/*
 * Attaches the instructions of one file, without those whose code differs in memory; *n becomes
 * the number of the others.
 */
static struct err *attach_unchanged(struct attempt *at, struct uprobe *p, uint32_t *n)
{
	struct err *e = drop_changed(at, p, n);

	for (uint32_t i = 0, k; i < *n && !e; i += k) {
		for (k = 1; i + k < *n && p[i + k].is_returned == p[i].is_returned;)
			k++;
		e = attach_file(at, p + i, k);
	}
	return e;
}

static struct err *check_count(uint32_t n, uint32_t max)
{
	if (!feat_has(FEAT_UPROBE_MULTI) && n > SINGLE_MAX)
		return err_hint(err_new("%" PRIu32
					" places in processes are too many for this kernel, which "
					"lacks %s: at most %u can be probed at once",
					n, feat_what(FEAT_UPROBE_MULTI), SINGLE_MAX),
				"name the functions");
	if (n <= max)
		return NULL;
	return err_hint(
		err_new("%" PRIu32 " places in processes are too many: at most %" PRIu32
			" are probed at once",
			n, max),
		"name modules and functions, leave out the probes of every instruction, or raise "
		"the limit: -x maxplaces=%" PRIu32,
		n);
}

/* ---- what is attached ------------------------------------------------------------------------ */

/* Probed instructions of one file in a process, or in one and its children. */
/* A process that has links. */
struct placed_in {
	pid_t pid;
	uint32_t ntaken; /* of the quota of probes; 0: the unit has taken them */
};

struct placed {
	const struct place_file *file;
	pid_t pid;	       /* as in struct place_code */
	uint32_t group;	       /* as in struct attach_opts */
	uint32_t nplaces;      /* how many instructions were asked for */
	VEC(uint64_t) offsets; /* ascending */
	bool only_children;    /* as in struct attach_opts */
	/* These are for children that get links of their own. */
	int prog_fd; /* the session owns it */
	uprobe_vec list;
	VEC(struct placed_in) in; /* the process, and the children that have links */
};

struct placed_list {
	VEC(struct placed) files;
	uint32_t nplaces; /* of all units */
};

static void placed_deinit(struct placed *p)
{
	for (uint32_t i = 0; i < p->in.len; i++)
		quota_give(QUOTA_PROBES, p->in.data[i].ntaken);
	vec_deinit(&p->offsets);
	vec_deinit(&p->list);
	vec_deinit(&p->in);
}

static void placed_list_destroy(void *list)
{
	struct placed_list *l = list;

	for (uint32_t i = 0; i < l->files.len; i++)
		placed_deinit(&l->files.data[i]);
	vec_deinit(&l->files);
	free(l);
}

static struct placed_list *placed_list(struct attachments *a)
{
	struct placed_list *l = attachments_own(a);

	if (!l) {
		l = xcalloc(1, sizeof(*l));
		attachments_set_own(a, l, placed_list_destroy);
	}
	return l;
}

static struct placed *placed_find(struct placed_list *l, const struct uprobe *p, uint32_t group)
{
	for (uint32_t i = 0; i < l->files.len; i++)
		if (l->files.data[i].pid == p->pid && l->files.data[i].file == p->file &&
		    l->files.data[i].group == group)
			return &l->files.data[i];
	return NULL;
}

static int by_offset(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void offsets_add(struct placed *to, const struct uprobe *p, uint32_t n)
{
	bool is_sorted = !to->offsets.len;
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		if (p[i].is_placed)
			vec_push(&to->offsets, p[i].off);
	if (!is_sorted)
		qsort(to->offsets.data, to->offsets.len, sizeof(*to->offsets.data), by_offset);
	for (uint32_t i = 0; i < to->offsets.len; i++)
		if (!len || to->offsets.data[len - 1] != to->offsets.data[i])
			to->offsets.data[len++] = to->offsets.data[i];
	to->offsets.len = len;
}

/* Adds what was attached to the list. nplaces: how many instructions were asked for. */
static void placed_add(struct placed_list *l, const struct attempt *at, const struct uprobe *p,
		       uint32_t n, uint32_t nplaces)
{
	struct placed *to = at->opts->has_children ? NULL : placed_find(l, p, at->opts->group);

	if (!to) {
		vec_push(&l->files, (struct placed){.file = p->file,
						    .pid = p->pid,
						    .group = at->opts->group,
						    .only_children = at->opts->only_children,
						    .prog_fd = at->prog_fd});
		to = vec_last(&l->files);
	}
	to->nplaces += nplaces;
	l->nplaces += nplaces;
	if (!at->opts->has_children) {
		offsets_add(to, p, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		if (p[i].is_placed)
			vec_push(&to->list, p[i]);
	if (!at->opts->only_children)
		vec_push(&to->in, (struct placed_in){.pid = p->at});
}

struct err *attach_uprobes(const struct unit *u, const int *progs, const struct attach_opts *opts,
			   struct attachments *ret)
{
	struct attempt at = {.prog_fd = progs[0], .opts = opts, .piece = PIECE_FIRST};
	struct placed_list *l = placed_list(ret);
	uprobe_vec probes = {0};
	struct err *e;

	uprobes_collect(u, &probes);
	if (!probes.len)
		return NULL;
	e = check_count(l->nplaces + probes.len, opts->max_places);
	if (!e)
		e = attempt_begin(&at, ret);
	for (uint32_t i = 0; i < probes.len && !e && !is_interrupted(&at);) {
		struct uprobe *p = &probes.data[i];
		uint32_t k = same_file_count(p, probes.len - i), good = k;

		if (opts->only_children)
			mark_placed(p, k); /* when there are children */
		else
			e = attach_unchanged(&at, p, &good);
		placed_add(l, &at, p, good, e ? 0 : k);
		i += k;
	}
	attempt_end(&at);
	vec_deinit(&probes);
	return e;
}

/* ---- taking off ------------------------------------------------------------------------------ */

struct err *attachments_drop(struct attachments *a, uint32_t group)
{
	struct placed_list *l = placed_list(a);
	struct keeper *keeper = attachments_made_keeper(a);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->files.len; i++) {
		struct placed *p = &l->files.data[i];

		if (p->group == group) {
			l->nplaces -= p->nplaces;
			placed_deinit(p);
		} else {
			l->files.data[n++] = *p;
		}
	}
	l->files.len = n;
	attachments_close_group(a, group);
	return keeper ? keeper_drop_group(keeper, group, false) : NULL;
}

/* ---- children -------------------------------------------------------------------------------- */

static bool is_placed_in(const struct placed *p, pid_t pid)
{
	for (uint32_t i = 0; i < p->in.len; i++)
		if (p->in.data[i].pid == pid)
			return true;
	return false;
}

static bool is_mapped(const struct proc_maps *maps, const struct place_file *f)
{
	for (uint32_t i = 0; i < maps->maps.len; i++)
		if (proc_map_is_of(&maps->maps.data[i], &f->inode))
			return true;
	return false;
}

static struct err *attach_again(struct attempt *at, struct placed *p, pid_t pid)
{
	uint32_t good = p->list.len;
	CLEANUP(free) struct uprobe *list = xcalloc(good, sizeof(*list));

	for (uint32_t i = 0; i < good; i++) {
		list[i] = p->list.data[i];
		list[i].at = pid;
	}
	at->prog_fd = p->prog_fd;
	keeper_set_group(at->keeper, p->group);
	vec_push(&p->in, ((struct placed_in){pid, good}));
	return attach_unchanged(at, list, &good);
}

/* Whether what is attached to a process is to be attached to its child as well. */
static bool is_wanted_in(const struct placed *p, pid_t pid, pid_t child,
			 const struct proc_maps *maps, const struct attach_opts *opts)
{
	return !(p->only_children && opts->only_children) && p->pid == pid && p->list.len &&
	       !is_placed_in(p, child) && is_mapped(maps, p->file);
}

struct err *attachments_add_child(struct attachments *a, pid_t pid, pid_t child,
				  const struct attach_opts *opts)
{
	uint64_t ntaken = 0;
	struct attempt at = {.opts = opts, .piece = PIECE_MAX};
	struct placed_list *l = placed_list(a);
	struct err *e = attempt_begin(&at, a);
	const struct proc_maps *maps = e ? NULL : attempt_maps(&at, child);

	if (!e)
		keeper_set_process(at.keeper, child, opts->child_start);
	for (uint32_t i = 0; maps && i < l->files.len; i++)
		if (is_wanted_in(&l->files.data[i], pid, child, maps, opts))
			ntaken += l->files.data[i].list.len;
	if (!e)
		e = quota_take(QUOTA_PROBES, ntaken);
	if (e)
		ntaken = 0;
	for (uint32_t i = 0; maps && i < l->files.len && !e && !is_interrupted(&at); i++) {
		struct placed *p = &l->files.data[i];

		if (!is_wanted_in(p, pid, child, maps, opts))
			continue;
		ntaken -= p->list.len;
		e = attach_again(&at, p, child);
	}
	quota_give(QUOTA_PROBES, ntaken); /* of what was not tried any more */
	attempt_end(&at);
	return e;
}

void attachments_forget_child(struct attachments *a, pid_t child)
{
	const struct placed_list *l = attachments_own(a);

	for (uint32_t i = 0; l && i < l->files.len; i++) {
		struct placed *p = &l->files.data[i];

		for (uint32_t k = p->in.len; k-- > 0;) {
			if (p->in.data[k].pid != child)
				continue;
			quota_give(QUOTA_PROBES, p->in.data[k].ntaken);
			p->in.data[k] = p->in.data[--p->in.len];
		}
	}
}

/* ---- breakpoints that children inherit ------------------------------------------------------- */

uint32_t attachments_nplaces(const struct attachments *a, pid_t pid)
{
	const struct placed_list *l = attachments_own(a);
	uint32_t n = 0;

	for (uint32_t i = 0; l && i < l->files.len; i++)
		if (l->files.data[i].pid == pid)
			n += l->files.data[i].offsets.len;
	return n;
}

struct err *attachments_sweep(struct attachments *a, pid_t pid, int prog_fd)
{
	const struct placed_list *l = placed_list(a);
	struct keeper *k;
	struct err *e = attachments_keeper(a, &k);

	for (uint32_t i = 0; i < l->files.len; i++) {
		const struct placed *p = &l->files.data[i];
		uint32_t n = p->pid == pid ? p->offsets.len : 0;

		for (uint32_t from = 0; from < n && !e; from += KEEPER_SITES_MAX)
			e = keeper_sweep(k, prog_fd, gate_file_fd(p->file->opened),
					 p->offsets.data + from,
					 MIN(n - from, (uint32_t)KEEPER_SITES_MAX));
	}
	return e;
}
