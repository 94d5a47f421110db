/* SPDX-License-Identifier: MIT */
/*
 * Nothing is learned of a library while the dynamic linker maps it: first all of it as its first
 * segment, then the others over that. What will be data looks like constants until then. And what
 * only a process says is learned for processes of its user alone.
 */
#include <fcntl.h>
#include <gelf.h>
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
#define ROOM	     (2u << 20)
#define NOBODY	     65534

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
/* An address in what the library has written, once it has: which one, it has written there. */
#define WRITTEN "*(uint8_t *)secaddr(\".data\")"
static const char helper_of_fixed[] = "#pragma D helper fixed \"number\"\n" HELPER(
	WRITTEN " && " WRITTEN " < 16 ? secaddr(\".data\") + " WRITTEN " : 0");
/* An address that the dynamic linker has written. */
static const char helper_of_address[] = HELPER("*(uint64_t *)secaddr(\".init_array\")");

static struct fake fake;
static uint32_t nputs, nlearned, nrefuted;
static uint64_t owner; /* whose values are expected */

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	(void)ctx, (void)key;
	nputs += hp->entry != 0;
	return NULL;
}

static void constants_set(void *ctx, const struct rt_hconst_key *key,
			  const struct rt_hconst *constants)
{
	(void)ctx, (void)constants;
	ok(key->owner == RT_HCONST_ALL, "what files say is for everybody");
	nlearned++;
}

/* In place of the one above: the value is an address in the file, of that owner. */
static void constants_check(void *ctx, const struct rt_hconst_key *key,
			    const struct rt_hconst *constants)
{
	uint32_t number;

	(void)ctx;
	ok(key->owner == owner, "their owner: %d", (int)key->owner);
	if (!constants) {
		nrefuted++;
		return;
	}
	number = constants->file_of[0];
	ok(number && key->runtimes == 1ull << number && constants->needs == key->runtimes &&
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
	uint64_t word; /* what the dynamic linker writes at the beginning of relro */
	int n;
	/*
	 * Where processes map it; this one has nothing else there, which clauses would take for
	 * their own memory.
	 */
	char *room;
};

/* What a process does with it. */
struct conduct {
	uid_t uid;
	char fill;     /* what its data is overwritten with; 0: nothing */
	uint64_t lie;  /* is added to the word of the dynamic linker */
	bool has_copy; /* the file is mapped once more, below */
};

/* What the file's relocations write at an address, which is an address in the file. */
static uint64_t word_read(int fd, uint64_t addr)
{
	Elf *elf;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Rela r;
	uint64_t word = 0;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (!word && (scn = elf_nextscn(elf, scn)))
		for (int i = 0; gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA &&
				gelf_getrela(elf_getdata(scn, NULL), i, &r);
		     i++)
			if (r.r_offset == addr)
				word = (uint64_t)r.r_addend;
	(void)elf_end(elf);
	return word;
}

static bool library_open(struct library *l)
{
	Elf64_Phdr all[32];
	Elf64_Ehdr head;
	struct stat st;

	*l = (struct library){.fd = open(LIBRARY, O_RDONLY | O_CLOEXEC),
			      .room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
					   0)};
	if (l->fd < 0 || l->room == MAP_FAILED || fstat(l->fd, &st) != 0 ||
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
	l->word = word_read(l->fd, l->relro.p_vaddr);
	return l->n > 2 && l->relro.p_memsz && l->word &&
	       l->load[l->n - 1].p_vaddr + l->load[l->n - 1].p_memsz < ROOM / 2;
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
static bool library_map(const struct library *l, int nsegments, const struct conduct *c)
{
	const Elf64_Phdr *last = &l->load[l->n - 1];
	uint64_t end = last->p_vaddr + last->p_memsz, at = l->relro.p_vaddr & -PAGE;
	char *base = l->room + ROOM / 2;

	if (mmap(base, end, PROT_READ, MAP_PRIVATE | MAP_FIXED, l->fd, 0) == MAP_FAILED ||
	    (c->has_copy &&
	     mmap(l->room, end, PROT_READ, MAP_PRIVATE | MAP_FIXED, l->fd, 0) == MAP_FAILED))
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
	*(volatile uint64_t *)(base + l->relro.p_vaddr) = (uintptr_t)base + l->word + c->lie;
	if (c->fill)
		memset(base + l->relro.p_vaddr + l->relro.p_memsz, c->fill,
		       last->p_vaddr + last->p_filesz - l->relro.p_vaddr - l->relro.p_memsz);
	return mprotect(base + at, l->relro.p_vaddr + l->relro.p_memsz - at, PROT_READ) == 0;
}

/* Returns a process that has mapped so many segments; 0: there is none. */
static pid_t loading_start(const struct library *l, int nsegments, const struct conduct *c)
{
	int ends[2];
	char byte = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = (char)(library_map(l, nsegments, c) &&
			      setresuid(c->uid, c->uid, c->uid) == 0);
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

static void test_learned(struct ustacks *u, const struct library *l, int nsegments,
			 const struct conduct *c, bool is_learned)
{
	const pid_t pid = loading_start(l, nsegments, c);
	const struct rt_ureq req = {.key = {.ino = 4096 * (uint64_t)pid}, .pid = (uint64_t)pid};

	nputs = nlearned = nrefuted = 0;
	ok(pid > 0, "a process maps %d of %d segments", nsegments, l->n);
	ustacks_add_process(u, &req);
	ok(nputs, "the helper is attached");
	is_int((int)nlearned, is_learned,
	       is_learned	  ? "its constants are learned"
	       : nsegments < l->n ? "nothing is learned yet"
	       : c->fill	  ? "nothing is learned where it has written"
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
		test_learned(u, l, n, &(struct conduct){.fill = 0}, n == l->n);
	ustacks_destroy(u);
}

static void test_written(const struct room *r, const struct library *l)
{
	struct ustacks *u = ustacks_start(r, helper_of_data);

	test_learned(u, l, l->n, &(struct conduct){.fill = 1}, false);
	test_learned(u, l, l->n, &(struct conduct){.fill = 0}, true);
	ustacks_destroy(u);
}

/* The helper says that what the library has written is the same in all processes. */
static void test_fixed(const struct room *r, const struct library *l, struct stack_tables_ops *ops)
{
	struct ustacks *u = ustacks_start(r, helper_of_fixed);

	ops->constants_set = constants_check;
	owner = RT_HCONST_OWNER(NOBODY);
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .fill = 0}, false); /* it is 0 */
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .fill = 2}, true);
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .fill = 2}, false);
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .fill = 0}, false);
	is_int((int)nrefuted, 0, "a process that has not begun says nothing");
	owner = RT_HCONST_OWNER(0); /* another user's lies are not believed */
	test_learned(u, l, l->n, &(struct conduct){.fill = 1}, true);
	test_learned(u, l, l->n, &(struct conduct){.fill = 1}, false);
	is_int((int)nrefuted, 0, "a process that says the same");
	owner = RT_HCONST_OWNER(NOBODY);
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .fill = 1}, false);
	is_int((int)nrefuted, 1, "a process of the same user says something else");
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .fill = 2}, false);
	is_int((int)nrefuted, 0, "which is said once");
	ustacks_destroy(u);
}

/* Addresses that the process has where the dynamic linker has written others. */
static void test_addresses(const struct room *r, const struct library *l)
{
	struct ustacks *u = ustacks_start(r, helper_of_address);

	owner = RT_HCONST_OWNER(NOBODY);
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .lie = 64}, true);
	owner = RT_HCONST_ALL;
	test_learned(u, l, l->n, &(struct conduct){.lie = 0}, true);
	ustacks_destroy(u);
	u = ustacks_start(r, helper_of_address);
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .has_copy = true}, false);
	test_learned(u, l, l->n, &(struct conduct){NOBODY, .lie = 0}, true);
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
	test_addresses(&room, &library);
	(void)unlink(path);
	(void)rmdir(folder);
	close(library.fd);
	free(fake.public.helper_words);
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
