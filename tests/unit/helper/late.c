/* SPDX-License-Identifier: MIT */
/*
 * A process whose memory was not read in time has no frames of its language for now, not for ever:
 * it is looked at again. One that its helper declines before it runs is asked about again if the
 * reason may be that it does not run yet, but not if its files are the reason. A program is
 * compiled when a walk has met a process that has it.
 */
#include <unistd.h>

#include "../unwind/fake_tables.h"
#include "d/compile.h"
#include "files/gate.h"
#include "helper/ustack.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "rt/helper.h"
#include "target/target.h"
#include "tap.h"

#define KEY 4096

static const char helper_text[] = "#pragma D helper exec \"unit_helper_late\"\n"
				  "uint64_t number;\n"
				  "dtrace:helper:attach:\n"
				  "{\n"
				  "	this->at = symaddr(\"late_version\");\n"
				  "	if (!this->at || *(uint32_t *)this->at != 42)\n"
				  "		udecline(\"this version is not known\");\n"
				  "	number = this->at;\n"
				  "}\n"
				  "dtrace:helper:ustack:\n"
				  "/arg0 == number/\n"
				  "{\n"
				  "	uframe(\"here\");\n"
				  "}\n";

/* It declines for want of a symbol, which no memory of the process changes. */
static const char helper_of_files[] = "#pragma D helper exec \"unit_helper_late\"\n"
				      "uint64_t number;\n"
				      "dtrace:helper:attach:\n"
				      "{\n"
				      "	if (!symaddr(\"late_nothing\"))\n"
				      "		udecline(\"it is without symbols\");\n"
				      "	number = symaddr(\"late_version\");\n"
				      "}\n"
				      "dtrace:helper:ustack:\n"
				      "/arg0 == number/\n"
				      "{\n"
				      "	uframe(\"here\");\n"
				      "}\n";

/* What the helper looks at: it is in memory, not in the file. */
volatile uint32_t late_version;

static struct fake fake;
static struct rt_hproc published;
static uint32_t nputs;
static char told[8][512];
static uint32_t ntold;

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	(void)ctx;
	published = *hp;
	nputs += key == KEY;
	return NULL;
}

static uint32_t ncompiled; /* how often a program was to be compiled */

static enum helper_code_state code_work(void *ctx, struct helper_code *c, struct err **ret_err)
{
	(void)ctx, (void)c, (void)ret_err;
	ncompiled++;
	return HELPER_CODE_IDLE;
}

static uint64_t nbare = 3; /* stacks that were recorded before anybody asked */

static uint64_t process_bare(void *ctx, uint64_t key)
{
	const uint64_t n = nbare;

	(void)ctx, (void)key;
	nbare = 0;
	return n;
}

static void on_notice(void *ctx, const char *msg)
{
	(void)ctx;
	if (ntold < ARRAY_LEN(told))
		(void)snprintf(told[ntold++], sizeof(told[0]), "%s", msg);
}

static void on_notice_debug(void *ctx, const char *msg)
{
	(void)ctx;
	printf("# %s\n", msg);
}

static void on_saves(void *ctx, pid_t pid)
{
	(void)ctx, (void)pid;
}

static char helper_path[64];

static void helper_write(const char *folder, const char *text)
{
	CLEANUP(file) FILE *f = NULL;

	(void)snprintf(helper_path, sizeof(helper_path), "%s/late.d", folder);
	f = fopen(helper_path, "w");
	(void)(f && fputs(text, f));
}

static void test_compiled(struct ustacks *u, struct gate *g)
{
	const uint64_t begun = ustacks_begun_key(getpid());
	struct rt_ureq req = {.key = {.ino = KEY}, .start = begun, .pid = (uint64_t)getpid()};
	struct target *t = NULL;

	err_destroy(target_live_open(getpid(), g, &t));
	ok(t && ustacks_attach(u, begun, t, false) && published.program,
	   "a process is attached before any walk has met it");
	target_close(t);
	ustacks_work(u);
	is_int(ncompiled, 0, "its program is not compiled");
	req.key.size = published.program;
	ustacks_add_process(u, &req);
	ustacks_work(u);
	is_int(ncompiled, 1, "the first walk has it compiled");
	(void)ustacks_bare(u);
	ustacks_gone(u, req.pid, UINT64_MAX);
}

static void test_late(struct ustacks *u, struct gate *g)
{
	const struct rt_ureq req = {.key = {.ino = KEY}, .pid = (uint64_t)getpid()};

	gate_set_patient(g, false);
	gate_set_wait(g, 0); /* no answer comes in time */
	ustacks_add_process(u, &req);
	ok(nputs && !published.entry, "it has native frames only");
	ok(!published.frames, "stacks go on to be counted");
	is_int((int)ustacks_bare(u), 0, "it is not known yet what they lack");
	is_int(ntold, 1, "the user is told once");
	ok(strstr(told[0], "for now") && strstr(told[0], "cannot be read"), "and why: %s", told[0]);
	gate_set_wait(g, GATE_WAIT_NS);
	gate_set_patient(g, true);
	while (!published.entry)
		ustacks_work(u);
	ok(true, "it is looked at again");
	is_int((int)ustacks_bare(u), 3, "stacks were recorded before that");
	is_int((int)ustacks_bare(u), 0, "which is said once");
	is_int(ntold, 1, "nothing else is said");
	nputs = 0;
	ustacks_work(u);
	is_int(nputs, 0, "that was the last time");
}

static void test_declined(struct ustacks *u)
{
	const struct rt_ureq req = {.key = {.ino = KEY}, .pid = (uint64_t)getpid()};

	late_version = 43;
	ustacks_gone(u, req.pid, UINT64_MAX);
	is_int((int)ustacks_bare(u), 0, "it goes without more of them");
	nbare = 3;
	ustacks_add_process(u, &req);
	ok(!published.entry && published.frames, "a version that is not known");
	is_int((int)ustacks_bare(u), 0, "whose stacks lack nothing");
	is_int(ntold, 2, "is what the user is told");
	ok(strstr(told[1], "this version is not known") != NULL, "%s", told[1]);
}

/* Whether the helpers' answer about this process, before it is said to run, is kept. */
static bool attach_early(struct ustacks *u, struct gate *g)
{
	const uint64_t pid = (uint64_t)getpid();
	struct target *t = NULL;
	struct err *e = target_live_open((pid_t)pid, g, &t);
	bool is_kept = false;

	ustacks_gone(u, pid, UINT64_MAX);
	nputs = 0;
	published = (struct rt_hproc){.entry = UINT16_MAX};
	if (ok(!e, "this process"))
		is_kept = ustacks_attach(u, KEY, t, true);
	err_destroy(e);
	target_close(t);
	return is_kept;
}

static void test_new(struct ustacks *u, struct gate *g)
{
	late_version = 43;
	ok(!attach_early(u, g) && !nputs, "what it has not written yet is asked for again");
	late_version = 42;
	ok(attach_early(u, g) && nputs && published.entry, "what it has written is taken");
	is_int(ntold, 2, "nothing is said before its first stack");
}

static void test_new_files(struct ustacks *u, struct gate *g)
{
	const struct rt_ureq req = {.key = {.ino = KEY}, .pid = (uint64_t)getpid(), .start = KEY};

	ok(attach_early(u, g) && nputs && !published.entry, "no frames are to come");
	is_int(ntold, 2, "nothing is said of it before there is a stack");
	ustacks_add_process(u, &req);
	is_int(ntold, 3, "which is said when there is a stack");
	ok(strstr(told[2], "it is without symbols") != NULL, "%s", told[2]);
}

int main(void)
{
	static const char *const no_preludes[] = {NULL};
	const struct compile_opts compile = {.strsize = RT_HELPER_STRSIZE, .scratchsize = 4096};
	struct stack_tables_ops ops = fake_ops;
	struct gate *g = gate_create();
	struct image_set *images = image_set_create();
	struct file_opts files = {.gate = g, .limit = GATE_LIMIT_DEFAULT, .images = images};
	char folder[] = "/tmp/late.XXXXXX";
	const char *dirs[] = {folder};
	struct ustack_opts opts = {.files = &files,
				   .dirs = dirs,
				   .ndirs = 1,
				   .compile = &compile,
				   .preludes = no_preludes,
				   .system_dir = "/",
				   .debug = on_notice_debug,
				   .saves = on_saves,
				   .notice = on_notice};
	struct ustacks *u = NULL;

	late_version = 42;
	ops.process_set = process_set;
	ops.process_bare = process_bare;
	ops.code_work = code_work;
	fake.public = (struct stack_tables){.ops = &ops,
					    .ctx = &fake,
					    .control = &fake.control,
					    .helper_words = xcalloc(RT_HCODE, sizeof(uint64_t))};
	if (!ok(mkdtemp(folder) != NULL, "a folder of helpers"))
		return tap_done();
	helper_write(folder, helper_text);
	if (ok(!ustacks_create(&opts, &u) && !ustacks_begin(u, &fake.public), "a helper")) {
		test_compiled(u, g);
		nbare = 3;
		nputs = 0;
		published = (struct rt_hproc){0};
		test_late(u, g);
		test_declined(u);
		test_new(u, g);
		ustacks_destroy(u);
	}
	u = NULL;
	helper_write(folder, helper_of_files);
	if (ok(!ustacks_create(&opts, &u) && !ustacks_begin(u, &fake.public), "another helper")) {
		test_new_files(u, g);
		ustacks_destroy(u);
	}
	(void)unlink(helper_path);
	(void)rmdir(folder);
	free(fake.public.helper_words);
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
