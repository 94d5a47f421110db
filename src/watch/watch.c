/* The watch: subscribers, and where events come from. */
#include "watch/watch.h"

#include "watch/records.h"
#include "watch/subscribers.h"

struct watch {
	struct subscribers subs;
	struct records *records; /* of all processes; NULL until watch_all() */
};

struct watch *watch_create(void)
{
	return xcalloc(1, sizeof(struct watch));
}

void watch_destroy(struct watch *w)
{
	if (!w)
		return;
	records_destroy(w->records);
	vec_deinit(&w->subs.list);
	free(w);
}

void watch_subscribe(struct watch *w, const struct watch_subscriber *sub, void *ctx)
{
	vec_push(&w->subs.list, (struct subscription){sub, ctx});
}

struct err *watch_all(struct watch *w, const int *cpus, uint32_t ncpus)
{
	return records_create(&w->subs, cpus, ncpus, &w->records);
}

void watch_drain(struct watch *w)
{
	if (w)
		records_drain(w->records);
}

uint32_t watch_fds(const struct watch *w, const int **ret_fds)
{
	return records_fds(w->records, ret_fds);
}
