/* SPDX-License-Identifier: MIT */
/* Links of attached units: which are closed, and when. */
#include "probe/attachments.h"

#include <fcntl.h>
#include <unistd.h>

#include "tap.h"

#define NFDS 40 /* more than the list has room for at first */

static int fds[NFDS];

static void fds_open(void)
{
	for (int i = 0; i < NFDS; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int open_count(int from, int end)
{
	int n = 0;

	for (int i = from; i < end; i++)
		n += fcntl(fds[i], F_GETFD) >= 0;
	return n;
}

static uint64_t position(int fd)
{
	for (int i = 0; i < NFDS; i++)
		if (fds[i] == fd)
			return (uint64_t)i;
	return 1000000;
}

static void test_groups(void)
{
	struct attachments *a = attachments_create(NULL);

	fds_open();
	for (int i = 0; i < NFDS; i++)
		attachments_add(a, fds[i], i < 10 ? 0 : i % 2 ? 1 : 2);
	is_int(attachments_count(a), NFDS, "all are held");
	is_int(attachments_sum(a, position), NFDS * (NFDS - 1) / 2, "each is asked once");
	attachments_close_group(a, 2);
	is_int(open_count(0, 10), 10, "a group is closed: others stay");
	is_int(open_count(10, NFDS), 15, "those of the group are closed");
	is_int(attachments_count(a), 25, "and held no more");
	attachments_close_from(a, 12);
	is_int(open_count(0, 12), 11, "the first ones stay, in the order in which they came");
	is_int(open_count(12, NFDS), 1, "what was added later is closed, of any group");
	attachments_close_from(a, 12);
	is_int(attachments_count(a), 12, "nothing was added since");
	attachments_destroy(a);
	is_int(open_count(0, NFDS), 0, "the end closes all");
}

static int destroyed;

static void own_destroy(void *own)
{
	destroyed += *(int *)own;
}

static void test_own(void)
{
	struct attachments *a = attachments_create(NULL);
	int own = 3;

	ok(!attachments_own(a) && !attachments_made_keeper(a), "nothing is there at first");
	attachments_set_own(a, &own, own_destroy);
	ok(attachments_own(a) == &own, "an engine finds its own data");
	is_int(attachments_count_event(a), 0, "the first event");
	is_int(attachments_count_event(a), 1, "the second");
	attachments_close_fast(a);
	ok(attachments_own(a) == &own && !destroyed, "which outlive the fast links");
	attachments_close(a);
	ok(!attachments_own(a) && destroyed == 3, "and end with the others");
	is_int(attachments_count_event(a), 0, "it can be used again");
	attachments_destroy(a);
	is_int(destroyed, 3, "data are released once");
	attachments_destroy(NULL);
}

int main(void)
{
	test_groups();
	test_own();
	return tap_done();
}
