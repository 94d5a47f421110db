/* SPDX-License-Identifier: MIT */
/*
 * Processes that have ended before anybody could look at them: which of them are learned from, and
 * that each of their stacks without frames is counted once. Here, they are copies of this program
 * that nobody has executed, with ids that no process can have.
 */
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unwind/fake_tables.h"
#include "d/compile.h"
#include "files/gate.h"
#include "helper/ustack.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "rt/helper.h"
#include "sym/sym.h"
#include "target/maps.h"
#include "target/target.h"
#include "tap.h"

#define NFILES	 8
#define NPIDS	 200	 /* more than are remembered */
#define PID	 4194304 /* beyond the largest one, Linux include/linux/threads.h */
#define DISTANCE 0x40000000u
#define NTRIED	 70	/* more programs than are remembered */
#define NEWS_US	 110000 /* so long the news of its C library may take, and more */

static const char helper_text[] = "#pragma D helper exec \"unit_departed*\"\n"
				  "uint64_t number;\n"
				  "dtrace:helper:attach:\n"
				  "{\n"
				  "	this->at = symaddr(\"departed_version\");\n"
				  "	if (!this->at || *(uint32_t *)this->at != 42)\n"
				  "		udecline(\"this version is not known\");\n"
				  "	number = this->at;\n"
				  "}\n"
				  "dtrace:helper:ustack:\n"
				  "/arg0 == number/\n"
				  "{\n"
				  "	uframe(\"here\");\n"
				  "}\n";

/* The helper looks at this word, which no process can change. */
const uint32_t departed_version = 42;

static struct fake fake;
static uint64_t nbare; /* of the process that is asked about next */
static struct image_set *images;
static char last_try[256];
static uint64_t next_pid = PID;

static char folder[] = "/tmp/departed.XXXXXX";
static char helper_path[64], linker[64];
static struct file {
	char path[64];
	struct stat st;
} files[NFILES];
static taddr code_start;
static uint64_t code_off;

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	(void)ctx, (void)key, (void)hp;
	return NULL;
}

static void constants_set(void *ctx, const struct rt_hconst_key *key, const struct rt_hconst *h)
{
	(void)ctx, (void)key, (void)h;
}

static uint64_t process_bare(void *ctx, uint64_t key)
{
	const uint64_t n = nbare;

	(void)ctx, (void)key;
	nbare = 0;
	return n;
}

static void on_debug(void *ctx, const char *msg)
{
	(void)ctx;
	if (strstr(msg, "has ended before"))
		(void)snprintf(last_try, sizeof(last_try), "%s", msg);
}

static void on_notice(void *ctx, const char *msg)
{
	(void)ctx;
	printf("# %s\n", msg);
}

static void on_saves(void *ctx, pid_t pid)
{
	(void)ctx, (void)pid;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool file_copy(const char *path, struct stat *ret)
{
	CLEANUP(fd) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(fd) int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	if (from < 0 || to < 0 || fstat(from, ret) != 0)
		return false;
	while (sendfile(to, from, NULL, (size_t)ret->st_size) > 0)
		;
	return fstat(to, ret) == 0;
}

static bool files_make(void)
{
	struct stat st;
	bool is_good = mkdtemp(folder) != NULL;

	(void)snprintf(helper_path, sizeof(helper_path), "%s/departed.d", folder);
	(void)snprintf(linker, sizeof(linker), "%s/ld-musl-x86_64.so.1", folder);
	for (uint32_t i = 0; i < NFILES && is_good; i++) {
		(void)snprintf(files[i].path, sizeof(files[i].path), "%s/unit_departed%u", folder,
			       i);
		is_good = file_copy(files[i].path, &files[i].st);
	}
	if (is_good) {
		CLEANUP(file) FILE *f = fopen(helper_path, "w");

		is_good = f && fputs(helper_text, f) >= 0;
	}
	return is_good && file_copy(linker, &st);
}

static void files_remove(void)
{
	for (uint32_t i = 0; i < NFILES; i++)
		(void)unlink(files[i].path);
	(void)unlink(linker);
	(void)unlink(helper_path);
	(void)rmdir(folder);
}

/* Finds where this process has its own code. */
static bool code_find(struct gate *g)
{
	struct target *t = NULL;
	struct err *e = target_live_open(getpid(), g, &t);
	const struct proc_map *m = e ? NULL : target_program(t);

	for (uint32_t i = 0; m && i < target_maps(t)->maps.len; i++) {
		const struct proc_map *c = &target_maps(t)->maps.data[i];

		if (c->is_exec && proc_map_is_same_file(c, m)) {
			code_start = c->start;
			code_off = c->off;
			break;
		}
	}
	err_destroy(e);
	target_close(t);
	return code_start;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void process_map(struct ustacks *u, uint64_t pid, const char *path, const struct stat *st,
			uint32_t place)
{
	const struct sym_map m = {.start = code_start + (taddr)place * DISTANCE,
				  .len = 4096,
				  .off = code_off,
				  .dev = st->st_dev,
				  .ino = st->st_ino,
				  .path = path,
				  .is_exec = true};

	ustacks_mapped(u, pid, &m, now_ns());
}

/* It executes the first file and maps others, by their bits; and then musl's dynamic linker. */
static uint64_t process_begin(struct ustacks *u, uint64_t mask, bool has_linker)
{
	const uint64_t pid = next_pid++;
	struct stat st;

	ustacks_execed(u, pid, now_ns());
	for (uint32_t i = 0; i < NFILES; i++)
		if (mask >> i & 1)
			process_map(u, pid, files[i].path, &files[i].st, i);
	if (has_linker && stat(linker, &st) == 0)
		process_map(u, pid, linker, &st, NFILES);
	return pid;
}

static void process_walk(struct ustacks *u, uint64_t pid, uint64_t n)
{
	const struct rt_ureq req = {.key = {.ino = pid * 4096}, .pid = pid};

	nbare = n;
	ustacks_add_process(u, &req);
}

/* Learns from what is wanted, when it has rested from that before: it takes a tenth of the time. */
static void work(struct ustacks *u)
{
	static uint64_t rests;
	uint64_t begin;

	while (now_ns() < rests)
		(void)usleep(1000);
	begin = now_ns();
	ustacks_work(u);
	rests = now_ns() + 10 * (now_ns() - begin);
}

/* How many files are opened for a process that has mapped them, by their bits, and has ended. */
static uint32_t files_opened(struct ustacks *u, uint64_t mask)
{
	const uint64_t before = images->nopened;

	process_walk(u, process_begin(u, mask, true), 0);
	work(u);
	return (uint32_t)(images->nopened - before);
}

static void test_tries(struct ustacks *u)
{
	const uint64_t first = 3, end = first + 2 * (uint64_t)NTRIED;
	uint32_t n = 0;
	char away[80];

	is_int((int)files_opened(u, 1), 2, "the files of a process with musl's dynamic linker");
	ok(strstr(last_try, "fix what they need") != NULL, "are learned from: %s", last_try);
	(void)snprintf(away, sizeof(away), "%s.away", files[1].path);
	ok(rename(files[1].path, away) == 0 && !files_opened(u, 2), "a file that is not there now");
	ok(rename(away, files[1].path) == 0 && files_opened(u, 2), "is tried when it is");
	is_int((int)files_opened(u, 2), 0, "once");
	for (uint64_t mask = first; mask < end; mask += 2)
		n += files_opened(u, mask) != 0;
	is_int((int)n, NTRIED, "the same program with other runtimes, however many");
	is_int((int)files_opened(u, end - 2), 0, "the last ones are remembered");
	ok(files_opened(u, first), "the first one is not");
	process_walk(u, process_begin(u, 1 << 7 | 1 << 6 | 1, false), 0);
	(void)usleep(NEWS_US);
	n = (uint32_t)images->nopened;
	work(u);
	is_int((int)(images->nopened - n), 0, "without its C library, a process is left out");
}

static void test_counts(struct ustacks *u)
{
	uint64_t pid = process_begin(u, 1, false);

	(void)ustacks_bare(u);
	process_walk(u, pid, 3);
	is_int((int)ustacks_bare(u), 3, "stacks of a process that has ended");
	process_walk(u, pid, 2);
	is_int((int)ustacks_bare(u), 2, "stacks that are heard of later");
	pid = process_begin(u, 1, true);
	process_walk(u, pid, 0);
	nbare = 4;
	ustacks_execed(u, pid, UINT64_MAX);
	is_int((int)ustacks_bare(u), 4, "stacks of the program before");
	process_walk(u, process_begin(u, 1, false), 5);
	for (int i = 0; i < NPIDS; i++)
		(void)process_begin(u, 0, false);
	is_int((int)ustacks_bare(u), 5, "a process that is waited for stays");
	for (int i = 0; i < NPIDS; i++)
		process_walk(u, process_begin(u, 1, false), 1);
	is_int((int)ustacks_bare(u), NPIDS, "of more than there is room for, stacks are counted");
	is_int((int)ustacks_bare(u), 0, "all of them once");
}

int main(void)
{
	static const char *const no_preludes[] = {NULL};
	const struct compile_opts compile = {.strsize = RT_HELPER_STRSIZE, .scratchsize = 4096};
	struct stack_tables_ops ops = fake_ops;
	struct gate *g = gate_create();
	struct file_opts opened = {.gate = g, .limit = GATE_LIMIT_DEFAULT, .debug_dirs = ""};
	const char *dirs[] = {folder};
	struct ustack_opts opts = {.files = &opened,
				   .dirs = dirs,
				   .ndirs = 1,
				   .compile = &compile,
				   .preludes = no_preludes,
				   .system_dir = "/",
				   .debug = on_debug,
				   .saves = on_saves,
				   .notice = on_notice};
	struct ustacks *u = NULL;

	opened.images = images = image_set_create();
	ops.process_set = process_set;
	ops.process_bare = process_bare;
	ops.constants_set = constants_set;
	fake.public = (struct stack_tables){.ops = &ops,
					    .ctx = &fake,
					    .control = &fake.control,
					    .helper_words = xcalloc(RT_HCODE, sizeof(uint64_t))};
	if (ok(files_make() && code_find(g), "files of programs") &&
	    ok(!ustacks_create(&opts, &u) && !ustacks_begin(u, &fake.public), "a helper")) {
		test_counts(u);
		test_tries(u);
	}
	ustacks_destroy(u);
	files_remove();
	free(fake.public.helper_words);
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
