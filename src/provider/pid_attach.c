/*
 * Placing the probes of processes: few links for all places in one file of one process.
 *
 * Attaching and detaching cost a grace period of the kernel each, not each place (providers.md
 * 1.2). The keeper makes the links (keeper/keeper.h).
 */
#include "provider/pid.h"

#include <errno.h>
#include <inttypes.h>

#include "bpf/attach.h"
#include "proc/code.h"
#include "proc/insn.h"

/*
 * The places of one link stand or fall together, and a signal is looked at between two links: as
 * many as take about PIECE_NS. One takes 2 to 50 us, by the number of processes that have the file
 * mapped, and what they do.
 */
#define PIECE_NS    100000000
#define PIECE_FIRST 4096
#define PIECE_MIN   512
#define PIECE_MAX   KEEPER_SITES_MAX
#define REFUSED_MAX 8
#define SINGLE_MAX  512 /* each takes the kernel 100 ms and more to remove: providers.md 1.2 */
/* Linux include/linux/errno.h: an instruction that is not probed */
#define KERNEL_ENOTSUPP 524

typedef VEC(struct pid_place) place_vec;

static int by_file(const void *pa, const void *pb)
{
	const struct pid_place *a = pa, *b = pb;

	if (a->target->pid != b->target->pid)
		return a->target->pid < b->target->pid ? -1 : 1;
	if (a->object != b->object)
		return (uintptr_t)a->object < (uintptr_t)b->object ? -1 : 1;
	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	return (a->cookie > b->cookie) - (a->cookie < b->cookie);
}

static void places_collect(struct probe *const *probes, uint32_t n, place_vec *ret)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct pid_probe *pp = pid_probe(probes[i]);

		for (uint32_t k = 0; k < pp->sites.len; k++) {
			const struct pid_site *s = &pp->sites.data[k];

			vec_push(ret, (struct pid_place){pp->target, s->object, s->off,
							 UPROBE_COOKIE(pp->key, s->rel, s->is_tail),
							 pp->is_exact});
		}
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_file);
}

/* ---- code that is not the file's ------------------------------------------------------------- */

static struct err *place_changed_err(const struct pid_place *p, enum code_state state)
{
	if (state == CODE_BREAKPOINT)
		return err_hint(
			err_new("process %d is being debugged and has a breakpoint at offset "
				"%" PRIx64 " of '%s'",
				(int)p->target->at, p->off, p->object->name),
			"take the breakpoint away or let the process go");
	return err_hint(err_new("process %d has changed its code at offset %" PRIx64
				" of '%s': a probe "
				"there would bring back what the file has",
				(int)p->target->at, p->off, p->object->name),
			"probe another function");
}

/* The state of all memory that shows the place. */
static enum code_state place_state(struct code_check *c, const struct pid_place *p)
{
	const struct proc_maps *maps = &p->target->maps;
	const uint8_t *code = text_at(&p->object->text, p->off, 1);
	enum code_state state = CODE_SAME;
	size_t room;
	uint32_t len;

	if (!code)
		return CODE_SAME;
	room = p->object->text.len - (size_t)(p->off - p->object->text.off);
	len = insn_len(code, room, p->object->funcs->is_32bit);
	for (uint32_t i = 0; i < maps->maps.len && state == CODE_SAME; i++) {
		const struct proc_map *m = &maps->maps.data[i];

		if (m->is_exec && m->ino == p->object->ino && m->dev == p->object->dev &&
		    p->off >= m->off && p->off - m->off < m->end - m->start)
			state = code_check_at(c, m->start + (p->off - m->off), code, MAX(len, 1u));
	}
	return state;
}

/* Leaves out the places of one file where the process executes something else. */
static struct err *drop_changed(struct pid_place *p, uint32_t *n)
{
	struct code_check c;
	struct err *e = NULL;
	uint32_t kept = 0;

	code_check_init(&c, p->target->at);
	for (uint32_t i = 0; i < *n && !e; i++) {
		enum code_state state = place_state(&c, &p[i]);

		if (state == CODE_SAME)
			p[kept++] = p[i];
		else if (p[i].is_exact)
			e = place_changed_err(&p[i], state);
	}
	code_check_deinit(&c);
	if (!e && kept < *n)
		probes_notice(p->target->ps,
			      "%" PRIu32
			      " places in '%s' are left out: process %d has changed its code "
			      "there, or is being debugged",
			      *n - kept, p->object->name, (int)p->target->at);
	*n = kept;
	return e;
}

/* ---- links ----------------------------------------------------------------------------------- */

static uint32_t same_file(const struct pid_place *p, uint32_t n)
{
	uint32_t k = 1;

	while (k < n && p[k].target == p[0].target && p[k].object == p[0].object)
		k++;
	return k;
}

/* Places the kernel will not take for reasons of its own, not seen in the bytes. */
static bool is_about_place(const struct err *e)
{
	int sys = err_get_sys(e);

	return sys == KERNEL_ENOTSUPP || sys == EINVAL || sys == EIO || sys == EILSEQ ||
	       sys == ENOEXEC;
}

struct attempt {
	int prog_fd;
	const struct attach_opts *opts;
	struct keeper *keeper;
	uint32_t piece;	   /* places of the next link */
	uint32_t nrefused; /* places found to be refused in this file */
	bool is_again;	   /* the places are in another process already */
};

static bool is_interrupted(const struct attempt *at)
{
	return at->opts->is_interrupted && *at->opts->is_interrupted;
}

static struct err *attach_once(const struct attempt *at, const struct pid_place *p, uint32_t n)
{
	CLEANUP(free) uint64_t *offsets = xcalloc(n, sizeof(*offsets));
	CLEANUP(free) uint64_t *cookies = xcalloc(n, sizeof(*cookies));
	struct uprobe_sites sites = {offsets, cookies, n};
	pid_t filter = feat_has(FEAT_UPROBE_TGID) ? p->target->at : 0;
	struct err *e;

	for (uint32_t i = 0; i < n; i++) {
		offsets[i] = p[i].off;
		cookies[i] = p[i].cookie;
	}
	e = keeper_uprobe_multi(at->keeper, at->prog_fd, p->object->fd, filter, &sites);
	for (uint32_t i = 0; i < n && !e && !at->is_again; i++)
		vec_push(&p->object->placed, offsets[i]);
	return e;
}

static struct err *attach_failed(const struct pid_place *p, uint32_t n, struct err *e)
{
	return err_wrap(e, "cannot place %" PRIu32 " probes in '%s' of process %d", n,
			p->object->path, (int)p->target->at);
}

/*
 * A place that is refused takes all others of its link with it: halves are tried, until it stands
 * alone. It is left out, unless it was asked for by name.
 */
static struct err *attach_link(struct attempt *at, const struct pid_place *p, uint32_t n)
{
	struct err *e = attach_once(at, p, n);

	if (!e)
		return NULL;
	if (err_get_sys(e) == ESRCH) {
		err_destroy(e); /* the process has ended: so has the run, in a moment */
		return NULL;
	}
	if (!is_about_place(e) || (n == 1 && p->is_exact) || at->nrefused >= REFUSED_MAX)
		return attach_failed(p, n, e);
	err_destroy(e); /* told for the place alone */
	if (n == 1) {
		at->nrefused++;
		return NULL;
	}
	e = attach_link(at, p, n / 2);
	return e ? e : attach_link(at, p + n / 2, n - n / 2);
}

static struct err *attach_pieces(struct attempt *at, const struct pid_place *p, uint32_t n)
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

/* One by one, on kernels that know no other way. */
static struct err *attach_singly(struct attempt *at, const struct pid_place *p, uint32_t n)
{
	for (uint32_t i = 0; i < n && !is_interrupted(at); i++) {
		struct err *e = keeper_uprobe(at->keeper, at->prog_fd, p->object->fd,
					      p->target->pid, p[i].off, p[i].cookie);

		if (e && err_get_sys(e) == ESRCH) {
			err_destroy(e); /* it has ended */
			return NULL;
		}
		if (e && is_about_place(e) && !p[i].is_exact) {
			err_destroy(e); /* counted */
			at->nrefused++;
			continue;
		}
		if (e)
			return attach_failed(&p[i], 1, e);
	}
	return at->nrefused == n ? attach_failed(p, n, err_new("the kernel refuses them all"))
				 : NULL;
}

static struct err *attach_file(struct attempt *at, const struct pid_place *p, uint32_t n)
{
	bool is_multi = feat_has(FEAT_UPROBE_MULTI);
	struct err *e;

	at->nrefused = 0;
	e = is_multi ? attach_pieces(at, p, n) : attach_singly(at, p, n);
	if (!e && is_multi && at->nrefused)
		probes_notice(p->target->ps,
			      "%" PRIu32 " places in '%s' are left out: the kernel refuses them",
			      at->nrefused, p->object->name);
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

/*
 * The places of one file; *ret_n: how many are left when those are not counted where the code is
 * another.
 */
static struct err *attach_unchanged(struct attempt *at, struct pid_place *p, uint32_t n,
				    uint32_t *ret_n)
{
	struct err *e;

	*ret_n = n;
	e = drop_changed(p, ret_n);
	return e || !*ret_n ? e : attach_file(at, p, *ret_n);
}

/* For children, which will need links of their own to them. */
static void places_remember(struct pid_state *st, int prog_fd, const struct pid_place *p,
			    uint32_t n)
{
	struct pid_placed placed = {.prog_fd = prog_fd, .list = xcalloc(n, sizeof(*p)), .n = n};

	memcpy(placed.list, p, n * sizeof(*p));
	vec_push(&placed.pids, p->target->at);
	vec_push(&st->placed, placed);
}

struct err *pid_attach(const struct provider *pv, int prog_fd, struct probe *const *probes,
		       uint32_t n, const struct attach_opts *opts, struct attachments *ret)
{
	struct attempt at = {.prog_fd = prog_fd, .opts = opts, .piece = PIECE_FIRST};
	place_vec places = {0};
	struct pid_state *st;
	struct err *e;

	places_collect(probes, n, &places);
	if (!places.len)
		return NULL;
	st = probes_state(places.data[0].target->ps, pv, sizeof(*st));
	e = check_count(st->nplaces + places.len, opts->max_places);
	if (!e)
		e = attachments_keeper(ret, &at.keeper);
	for (uint32_t i = 0; i < places.len && !e && !is_interrupted(&at);) {
		uint32_t k = same_file(&places.data[i], places.len - i), good;

		e = attach_unchanged(&at, &places.data[i], k, &good);
		if (!e && good && st->has_children)
			places_remember(st, prog_fd, &places.data[i], good);
		i += k;
	}
	st->nplaces += e ? 0 : places.len;
	vec_deinit(&places);
	return e;
}

/* ---- children -------------------------------------------------------------------------------- */

static bool is_placed_in(const struct pid_placed *p, pid_t pid)
{
	for (uint32_t i = 0; i < p->pids.len; i++)
		if (p->pids.data[i] == pid)
			return true;
	return false;
}

static struct err *attach_again(struct attempt *at, struct pid_placed *p, pid_t pid)
{
	CLEANUP(free) struct pid_place *list = xcalloc(p->n, sizeof(*list));
	uint32_t good;

	memcpy(list, p->list, p->n * sizeof(*list));
	at->prog_fd = p->prog_fd;
	vec_push(&p->pids, pid);
	return attach_unchanged(at, list, p->n, &good);
}

struct err *pid_attach_child(struct pid_state *st, const struct pid_target *t,
			     const struct attach_opts *opts, struct attachments *ret)
{
	struct attempt at = {.opts = opts, .piece = PIECE_MAX, .is_again = true};
	struct err *e = attachments_keeper(ret, &at.keeper);

	for (uint32_t i = 0; i < st->placed.len && !e && !is_interrupted(&at); i++) {
		struct pid_placed *p = &st->placed.data[i];

		if (p->list->target == t && !is_placed_in(p, t->at) &&
		    pid_object_is_mapped(t, p->list->object))
			e = attach_again(&at, p, t->at);
	}
	return e;
}
