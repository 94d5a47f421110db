/* SPDX-License-Identifier: MIT */
/*
 * Nothing is learned of a library while the dynamic linker maps it: first all of it as its first
 * segment, then the others over that. What will be data looks like constants until then.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unwind/fake_tables.h"
#include "d/compile.h"
#include "files/gate.h"
#include "helper/ustack.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "rt/helper.h"
#include "tap.h"

/* A library of libc6 that this program has not mapped. */
#define LIBRARY	     "/usr/lib/x86_64-linux-gnu/libthread_db.so.1"
#define SEGMENTS_MAX 8
#define PAGE	     4096ull

#define HELPER(read)                                                                               \
	"#pragma D helper exec \"libthread_db.so*\"\n"                                             \
	"uint64_t number;\n"                                                                       \
	"dtrace:helper:attach:\n"                                                                  \
	"{\n"                                                                                      \
	"	number = " read ";\n"                                                              \
	"}\n"                                                                                      \
	"dtrace:helper:ustack:\n"                                                                  \
	"/arg0 == number/\n"                                                                       \
	"{\n"                                                                                      \
	"	uframe(\"here\");\n"                                                                     \
	"}\n"
static const char helper_of_constant[] = HELPER("*(uint64_t *)secaddr(\".dynamic\")");
static const char helper_of_data[] = HELPER("*(uint64_t *)secaddr(\".data\") == 42");
/* The address of what the library has written, once it has. */
#define WRITTEN "*(uint64_t *)secaddr(\".data\") == 0x0101010101010101"
static const char helper_of_fixed[] =
	"#pragma D helper fixed \"number\"\n" HELPER(WRITTEN " ? secaddr(\".data\") : 0");

static struct fake fake;
static uint32_t nputs, nlearned;

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	(void)ctx, (void)key;
	nputs += hp->entry != 0;
	return NULL;
}

static void constants_set(void *ctx, uint64_t runtimes, const struct rt_hconst *constants)
{
	(void)ctx, (void)runtimes, (void)constants;
	nlearned++;
}

/* In place of the one above: the value is an address in the file, which is a number. */
static void constants_check(void *ctx, uint64_t runtimes, const struct rt_hconst *constants)
{
	const uint32_t number = constants->file_of[0];

	(void)ctx;
	ok(number && runtimes == 1ull << number && constants->needs == runtimes &&
		   constants->proc.globals[0] && constants->proc.globals[0] < 1 << 20,
	   "an address in the library");
	nlearned++;
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

/* ---- a process that loads the library -------------------------------------------------------- */

struct library {
	int fd;
	uint64_t size; /* of the file */
	Elf64_Phdr load[SEGMENTS_MAX], relro;
	int n;
};

static bool library_open(struct library *l)
{
	Elf64_Phdr all[32];
	Elf64_Ehdr head;
	struct stat st;

	*l = (struct library){.fd = open(LIBRARY, O_RDONLY | O_CLOEXEC)};
	if (l->fd < 0 || fstat(l->fd, &st) != 0 ||
	    pread(l->fd, &head, sizeof(head), 0) != sizeof(head) || head.e_phnum > ARRAY_LEN(all) ||
	    pread(l->fd, all, sizeof(all), (off_t)head.e_phoff) < 0)
		return false;
	l->size = (uint64_t)st.st_size;
	for (int i = 0; i < head.e_phnum; i++) {
		if (all[i].p_type == PT_LOAD && l->n < SEGMENTS_MAX)
			l->load[l->n++] = all[i];
		if (all[i].p_type == PT_GNU_RELRO)
			l->relro = all[i];
	}
	return l->n > 2 && l->relro.p_memsz;
}

static int protection(const Elf64_Phdr *ph)
{
	return (ph->p_flags & PF_R ? PROT_READ : 0) | (ph->p_flags & PF_W ? PROT_WRITE : 0) |
	       (ph->p_flags & PF_X ? PROT_EXEC : 0);
}

/*
 * Maps the library as the dynamic linker does, up to a segment: all of them when it is the last.
 * Then the library may write its data.
 */
static bool library_map(const struct library *l, int nsegments, bool writes)
{
	const Elf64_Phdr *last = &l->load[l->n - 1];
	uint64_t end = last->p_vaddr + last->p_memsz, at = l->relro.p_vaddr & -PAGE;
	char *base = mmap(NULL, end, PROT_READ, MAP_PRIVATE, l->fd, 0);

	if (base == MAP_FAILED)
		return false;
	for (int i = 1; i < nsegments; i++) {
		uint64_t off = l->load[i].p_vaddr % PAGE;

		if (mmap(base + l->load[i].p_vaddr - off, l->load[i].p_filesz + off,
			 protection(&l->load[i]), MAP_PRIVATE | MAP_FIXED, l->fd,
			 (off_t)(l->load[i].p_offset - off)) == MAP_FAILED)
			return false;
	}
	if (nsegments < l->n)
		return true;
	*(volatile char *)(base + l->relro.p_vaddr) = 1; /* it is relocated */
	if (writes)
		memset(base + l->relro.p_vaddr + l->relro.p_memsz, 1,
		       last->p_vaddr + last->p_filesz - l->relro.p_vaddr - l->relro.p_memsz);
	return mprotect(base + at, l->relro.p_vaddr + l->relro.p_memsz - at, PROT_READ) == 0;
}

/* Returns a process that has mapped so many segments; 0: there is none. */
static pid_t loading_start(const struct library *l, int nsegments, bool writes)
{
	int ends[2];
	char byte = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = (char)library_map(l, nsegments, writes);
		(void)!write(ends[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	if (pid > 0)
		(void)!read(ends[0], &byte, 1);
	close(ends[0]);
	close(ends[1]);
	return byte ? pid : 0;
}

/* ---- what is learned of it ------------------------------------------------------------------- */

static void test_learned(struct ustacks *u, const struct library *l, int nsegments, bool writes,
			 bool is_learned)
{
	const pid_t pid = loading_start(l, nsegments, writes);
	const struct rt_ureq req = {.key = {.ino = 4096 * (uint64_t)pid}, .pid = (uint64_t)pid};

	nputs = nlearned = 0;
	ok(pid > 0, "a process maps %d of %d segments", nsegments, l->n);
	ustacks_add_process(u, &req);
	ok(nputs, "the helper is attached");
	is_int((int)nlearned, is_learned,
	       is_learned	  ? "its constants are learned"
	       : nsegments < l->n ? "nothing is learned yet"
	       : writes		  ? "nothing is learned where it has written"
				  : "nothing is learned where it has not written");
	ustacks_gone(u, (uint64_t)pid, UINT64_MAX);
	if (pid > 0)
		(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

struct room {
	struct ustack_opts opts;
	const char *path; /* of the helper */
};

static struct ustacks *ustacks_start(const struct room *r, const char *helper)
{
	FILE *f = fopen(r->path, "w");
	struct ustacks *u = NULL;

	if (f) {
		(void)fputs(helper, f);
		(void)fclose(f);
	}
	ok(f && !ustacks_create(&r->opts, &u) && !ustacks_begin(u, &fake.public), "a helper");
	return u;
}

static void test_mapped(const struct room *r, const struct library *l)
{
	struct ustacks *u = ustacks_start(r, helper_of_constant);

	for (int n = 2; n <= l->n; n++)
		test_learned(u, l, n, false, n == l->n);
	ustacks_destroy(u);
}

static void test_written(const struct room *r, const struct library *l)
{
	struct ustacks *u = ustacks_start(r, helper_of_data);

	test_learned(u, l, l->n, true, false);
	test_learned(u, l, l->n, false, true);
	ustacks_destroy(u);
}

/* The helper says that what the library has written is the same in all processes. */
static void test_fixed(const struct room *r, const struct library *l, struct stack_tables_ops *ops)
{
	struct ustacks *u = ustacks_start(r, helper_of_fixed);

	ops->constants_set = constants_check;
	test_learned(u, l, l->n, false, false); /* its variable is 0 */
	test_learned(u, l, l->n, true, true);
	ustacks_destroy(u);
}

int main(void)
{
	static const char *const no_preludes[] = {NULL};
	const struct compile_opts compile = {.strsize = RT_HELPER_STRSIZE, .scratchsize = 4096};
	struct stack_tables_ops ops = fake_ops;
	struct gate *g = gate_create();
	struct image_set *images = image_set_create();
	struct file_opts files = {.gate = g, .limit = GATE_LIMIT_DEFAULT, .images = images};
	char folder[] = "/tmp/loading.XXXXXX", path[64];
	const char *dirs[] = {folder};
	struct room room = {.opts = {.files = &files,
				     .dirs = dirs,
				     .ndirs = 1,
				     .compile = &compile,
				     .preludes = no_preludes,
				     .system_dir = "/",
				     .saves = on_saves,
				     .notice = on_notice},
			    .path = path};
	struct library library;

	if (!library_open(&library) || !mkdtemp(folder)) {
		printf("1..0 # SKIP needs " LIBRARY "\n");
		return 0;
	}
	ops.process_set = process_set;
	ops.constants_set = constants_set;
	fake.public = (struct stack_tables){.ops = &ops,
					    .ctx = &fake,
					    .control = &fake.control,
					    .helper_words = xcalloc(RT_HCODE, sizeof(uint64_t))};
	(void)snprintf(path, sizeof(path), "%s/loading.d", folder);
	test_mapped(&room, &library);
	test_written(&room, &library);
	test_fixed(&room, &library, &ops);
	(void)unlink(path);
	(void)rmdir(folder);
	close(library.fd);
	free(fake.public.helper_words);
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
