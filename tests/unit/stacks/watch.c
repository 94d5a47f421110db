/* SPDX-License-Identifier: MIT */
/*
 * What is known of a followed process stays known where it has run on since an event that is
 * attended to late, and is found anew where it waits before its libraries are initialised.
 */
#include <unistd.h>

#include "../unwind/fake_tables.h"
#include "files/gate.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "rt/helper.h"
#include "stacks/impl.h"
#include "tap.h"
#include "watch/watch.h"

#define KEY 4096 /* of an address space that a walk has met */

static struct fake fake;
static bool is_forgotten; /* what was known of KEY */
/* The watch is this test: it has one subscriber. */
static const struct watch_subscriber *subscriber;
static void *subscriber_ctx;

void watch_subscribe(struct watch *w, const struct watch_subscriber *sub, void *ctx)
{
	(void)w;
	subscriber = sub;
	subscriber_ctx = ctx;
}

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	(void)ctx, (void)key, (void)hp;
	return NULL;
}

static void process_forget(void *ctx, uint64_t key)
{
	(void)ctx;
	is_forgotten |= key == KEY;
}

static void on_notice(void *ctx, const char *msg)
{
	(void)ctx;
	printf("# %s\n", msg);
}

static void meet(struct stacks *s)
{
	const struct rt_ureq req = {.key = {.ino = KEY}, .pid = (uint64_t)getpid()};

	ustacks_add_process(s->helpers, &req);
	is_forgotten = false;
}

/* Tells of an exec at a time, and of what the kernel has mapped for it. */
static void execute(uint64_t time, bool runs_on)
{
	const struct watch_subject subject = {.pid = (uint64_t)getpid(),
					      .time = time,
					      .runs_on = runs_on};

	subscriber->execed(subscriber_ctx, &subject);
	subscriber->reported(subscriber_ctx, &subject);
}

/* Tells of what the dynamic linker has mapped. */
static void report(bool runs_on)
{
	const struct watch_subject subject = {.pid = (uint64_t)getpid(),
					      .time = now_ns(),
					      .runs_on = runs_on};

	subscriber->reported(subscriber_ctx, &subject);
}

static void test_late_exec(struct stacks *s)
{
	const uint64_t time = now_ns();

	meet(s);
	execute(time, true);
	ok(!is_forgotten, "a program that was met before its exec was attended to stays known");
	execute(now_ns(), true);
	ok(is_forgotten, "the one before the exec is forgotten");
}

static void test_first_wait(struct stacks *s)
{
	execute(now_ns(), true);
	meet(s);
	report(false);
	ok(is_forgotten, "it waits for its first libraries: what was met before them is void");
	execute(now_ns(), true);
	meet(s);
	report(true);
	ok(!is_forgotten, "it runs on with its first libraries, and stays known");
	report(false);
	ok(!is_forgotten, "it waits for one that it opens when its runtime has run: the same");
}

static void test_opens(struct stacks *s)
{
	execute(now_ns(), false);
	report(false);
	meet(s);
	s->starting.data[0].nruntimes = s->starting.data[0].nnew = 1;
	report(true);
	ok(!is_forgotten, "a runtime opens a known library of its own, and runs on: the same");
	s->starting.data[0].nnew = 1;
	report(false);
	ok(is_forgotten, "it waits for one: what was met before it is void");
}

int main(void)
{
	struct stack_tables_ops ops = fake_ops;
	struct gate *g = gate_create();
	struct image_set *images = image_set_create();
	struct file_opts files = {.gate = g, .limit = GATE_LIMIT_DEFAULT, .images = images};
	struct ustack_opts opts = {.files = &files,
				   .system_dir = "/nonexistent",
				   .notice = on_notice};
	struct stacks s = {.opts.helpers = opts, .walks_here = true, .engine = &fake.public};

	ops.process_set = process_set;
	ops.process_forget = process_forget;
	fake.control.epoch = 100;
	fake.public = (struct stack_tables){.ops = &ops, .ctx = &fake, .control = &fake.control};
	if (!ok(!ustacks_create(&opts, &s.helpers) && !ustacks_begin(s.helpers, &fake.public),
		"helpers of processes"))
		return tap_done();
	stacks_watch_followed(&s, NULL);
	if (ok(subscriber && subscriber->execed && subscriber->reported, "they are told of both")) {
		test_late_exec(&s);
		test_first_wait(&s);
		test_opens(&s);
	}
	vec_deinit(&s.starting);
	ustacks_destroy(s.helpers);
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
