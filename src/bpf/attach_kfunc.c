/* SPDX-License-Identifier: MIT */
/*
 * Attaches probes of kernel functions. Few functions have a program each, which the kernel calls
 * from the function's first instruction and at its return. Many have one program: with one link for
 * all, or one by one on kernels without such links.
 *
 * The kernel attaches all functions of a link or none, and does not say which of them it refuses.
 * Therefore a link that is refused is tried again in halves, until the refused functions are known.
 */
#include <errno.h>
#include <inttypes.h>

#include "bpf/attach.h"
#include "base/text.h"
#include "kernel/kernel.h"

#define REFUSED_SHOWN 5
#define SINGLE_MAX    1000 /* removing one takes the kernel some 10 ms: providers.md 1.2 */

struct kfunc_site {
	uint64_t addr, cookie;
	const struct place_func *func;
};

typedef VEC(struct kfunc_site) site_vec;

struct attempt {
	int prog_fd;
	bool is_return;
	struct attachments *links;
	const struct attach_opts *opts;
	uint32_t nattached, nrefused;
	int why;			/* errno of the last refusal */
	const struct place_func *exact; /* the first refused function that the user named */
	struct strbuf names;		/* of refused functions */
};

static int by_addr(const void *pa, const void *pb)
{
	const struct kfunc_site *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* The addresses of all probes of the unit at entries, or at returns. */
static site_vec sites_collect(const struct unit *u, bool is_return)
{
	site_vec all = {0};

	for (uint32_t i = 0; i < u->nprobes; i++) {
		const struct place_func *f = u->probes[i].kfunc;

		for (uint32_t k = 0;
		     k < f->naddrs && (u->probes[i].spot == SPOT_RETURN) == is_return; k++)
			vec_push(&all, (struct kfunc_site){f->addrs[k], u->probes[i].key, f});
	}
	if (all.len)
		qsort(all.data, all.len, sizeof(*all.data), by_addr);
	return all;
}

static void site_refused(struct attempt *at, const struct kfunc_site *s, int sys)
{
	at->why = sys;
	if (s->func->is_exact && !at->exact)
		at->exact = s->func;
	if (at->nrefused++ < REFUSED_SHOWN)
		strbuf_addf(&at->names, "%s%s`%s", at->names.len ? ", " : "", s->func->mod,
			    s->func->name);
}

static bool is_interrupted(const struct attempt *at)
{
	return at->opts->is_interrupted && *at->opts->is_interrupted;
}

/* Attaches the functions with one link; those that the kernel refuses are noted. */
static void sites_attach_together(struct attempt *at, const struct kfunc_site *s, uint32_t n)
{
	CLEANUP(free) uint64_t *addrs = xcalloc(n, sizeof(*addrs));
	CLEANUP(free) uint64_t *cookies = xcalloc(n, sizeof(*cookies));
	int fd, sys;

	for (uint32_t i = 0; i < n; i++) {
		addrs[i] = s[i].addr;
		cookies[i] = s[i].cookie;
	}
	sys = attach_kprobe_multi(at->prog_fd, addrs, cookies, n, at->is_return, &fd);
	if (!sys) {
		attachments_add(at->links, fd, at->opts->group);
		at->nattached += n;
	} else if (n == 1) {
		site_refused(at, s, sys);
	} else if (!is_interrupted(at)) {
		sites_attach_together(at, s, n / 2);
		sites_attach_together(at, s + n / 2, n - n / 2);
	}
}

static void sites_attach_singly(struct attempt *at, const struct kfunc_site *s, uint32_t n)
{
	int event_fd, link_fd, sys;

	for (uint32_t i = 0; i < n && !is_interrupted(at); i++) {
		sys = attach_kprobe(at->prog_fd, s[i].addr, s[i].cookie, at->is_return, &event_fd,
				    &link_fd);
		if (sys) {
			site_refused(at, &s[i], sys);
			continue;
		}
		attachments_add(at->links, link_fd, at->opts->group);
		attachments_add(at->links, event_fd, at->opts->group);
		at->nattached++;
	}
}

/* Reports the functions on which the kernel has refused to place a probe. */
static struct err *refusals_report(struct attempt *at)
{
	struct strbuf text = {0};
	struct err *e = NULL;

	if (at->exact || (at->nrefused && !at->nattached))
		e = err_hint(err_sys(at->why, "the kernel refuses a probe at the %s of '%s'",
				     at->is_return ? "return" : "entry",
				     at->exact ? at->exact->name : strbuf_text(&at->names)),
			     "%s",
			     at->why == EACCES || at->why == EPERM
				     ? events_need()
				     : "a tracer must not stop there: probe a function that calls "
				       "it, or one that it calls");
	if (e || !at->nrefused || !at->opts->notice)
		return e;
	strbuf_addf(&text, "the kernel refuses probes at %" PRIu32 " function%s: %s%s",
		    at->nrefused, PLURAL(at->nrefused), strbuf_text(&at->names),
		    at->nrefused > REFUSED_SHOWN ? ", ..." : "");
	at->opts->notice(at->opts->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
	return NULL;
}

static struct err *sites_attach(struct attempt *at, const site_vec *all)
{
	struct err *e;

	if (!all->len)
		return NULL;
	if (feat_has(FEAT_KPROBE_MULTI)) {
		sites_attach_together(at, all->data, all->len);
	} else if (all->len > SINGLE_MAX) {
		return err_hint(err_new("%" PRIu32 " kernel functions are too many for this "
					"kernel, which lacks %s: at most %u can be probed at once",
					all->len, feat_what(FEAT_KPROBE_MULTI), SINGLE_MAX),
				"name the functions, or a module: fbt:MODULE::entry; "
				"profile-997 with stack() samples all of them");
	} else {
		sites_attach_singly(at, all->data, all->len);
	}
	e = refusals_report(at);
	strbuf_deinit(&at->names);
	return e;
}

/* Whether all functions have addresses; the kernel shows none to those who may not know them. */
static struct err *addresses_check(const struct unit *u)
{
	for (uint32_t i = 0; i < u->nprobes; i++)
		if (!u->probes[i].kfunc->naddrs)
			return err_hint(
				err_new("/proc/kallsyms has no address of the function '%s'",
					u->probes[i].kfunc->name),
				"its module may be gone; the sysctl kernel.kptr_restrict=2 "
				"hides all addresses");
	return NULL;
}

struct err *attach_kfuncs(const struct unit *u, const int *progs, const struct attach_opts *opts,
			  struct attachments *ret)
{
	struct err *e = addresses_check(u);

	for (int is_return = 0; is_return < 2 && !e; is_return++) {
		struct attempt at = {.prog_fd = progs[0],
				     .is_return = is_return,
				     .links = ret,
				     .opts = opts};
		site_vec all = sites_collect(u, is_return);

		e = sites_attach(&at, &all);
		vec_deinit(&all);
	}
	return e;
}

/* The caller knows what to do without these programs: it gets the first error. */
struct err *attach_kfuncs_few(const struct unit *u, const int *progs,
			      const struct attach_opts *opts, struct attachments *ret)
{
	for (uint32_t i = 0; i < u->nprobes; i++) {
		const struct unit_probe *p = &u->probes[i];
		int fd;

		if (opts->is_interrupted && *opts->is_interrupted)
			break;
		fd = attach_function(progs[i], p->spot == SPOT_RETURN, p->key);
		if (fd < 0)
			return err_sys(errno, "cannot link a program to '%s'", p->kfunc->name);
		attachments_add(ret, fd, opts->group);
	}
	return NULL;
}
