/*
 * Placing the probes of processes: one link for all places in one file of one process.
 *
 * Attaching and detaching cost a grace period of the kernel each, not each place (providers.md 1.2).
 */
#include "provider/pid.h"

#include <errno.h>
#include <inttypes.h>

#define LINK_MAX	(1u << 20) /* places in one link: Linux kernel/trace/bpf_trace.c */
#define KERNEL_ENOTSUPP 524	   /* Linux include/linux/errno.h: an instruction that is not probed */

struct place {
	struct pid_target *target;
	struct pid_object *object;
	uint64_t off, cookie;
	bool is_exact;
};

typedef VEC(struct place) place_vec;

static int by_file(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

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

			vec_push(ret, (struct place){pp->target, s->object, s->off,
						     UPROBE_COOKIE(pp->key, s->rel, s->is_tail),
						     pp->is_exact});
		}
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_file);
}

static uint32_t same_file(const struct place *p, uint32_t n)
{
	uint32_t k = 1;

	while (k < n && k < LINK_MAX && p[k].target == p[0].target && p[k].object == p[0].object)
		k++;
	return k;
}

/* Places the kernel will not take for reasons of its own, not seen in the bytes. */
static bool is_about_place(const struct err *e)
{
	int sys = err_get_sys(e);

	return sys == KERNEL_ENOTSUPP || sys == EINVAL || sys == EIO || sys == EILSEQ;
}

static struct err *attach_once(int prog_fd, const struct place *p, uint32_t n,
			       struct attachments *ret)
{
	CLEANUP(free) uint64_t *offsets = xcalloc(n, sizeof(*offsets));
	CLEANUP(free) uint64_t *cookies = xcalloc(n, sizeof(*cookies));
	struct uprobe_sites sites = {offsets, cookies, n};
	pid_t filter = feat_has(FEAT_UPROBE_TGID) ? p->target->pid : 0;
	struct err *e;
	int fd;

	for (uint32_t i = 0; i < n; i++) {
		offsets[i] = p[i].off;
		cookies[i] = p[i].cookie;
	}
	e = attach_uprobe_multi(prog_fd, p->object->fd, filter, &sites, &fd);
	if (!e)
		attachments_add(ret, fd);
	return e;
}

/*
 * A place that is refused takes all others of its link with it: halves are tried, until it stands
 * alone. It is left out, unless it was asked for by name.
 */
static struct err *attach_file(int prog_fd, const struct place *p, uint32_t n,
			       struct attachments *ret)
{
	struct err *e = attach_once(prog_fd, p, n, ret);

	if (!e)
		return NULL;
	if (err_get_sys(e) == ESRCH || (n == 1 && is_about_place(e) && !p->is_exact)) {
		err_destroy(e); /* the process has ended: so has the run, in a moment */
		return NULL;
	}
	if (n > 1 && is_about_place(e)) {
		err_destroy(e); /* told for the place alone */
		e = attach_file(prog_fd, p, n / 2, ret);
		return e ? e : attach_file(prog_fd, p + n / 2, n - n / 2, ret);
	}
	return err_wrap(e, "cannot place %" PRIu32 " probes in '%s' of process %d", n,
			p->object->path, (int)p->target->pid);
}

struct err *pid_attach(const struct provider *pv, enum entry_kind kind, int prog_fd,
		       struct probe *const *probes, uint32_t n, const struct attach_opts *opts,
		       struct attachments *ret)
{
	place_vec places = {0};
	struct err *e = NULL;

	places_collect(probes, n, &places);
	for (uint32_t i = 0; i < places.len && !e;) {
		uint32_t k = same_file(&places.data[i], places.len - i);

		e = attach_file(prog_fd, &places.data[i], k, ret);
		i += k;
	}
	vec_deinit(&places);
	return e;
}
