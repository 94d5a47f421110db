/* SPDX-License-Identifier: MIT */
/*
 * Memory for names: a month of large builds, each of which is a new file, in a few MB. Names that
 * were freed are read again; of files that are gone, they are missing, which is known.
 */
#include <elf.h>
#include <malloc.h>
#include <sys/stat.h>

#include "sym/usym.h"
#include "tap.h"

#define PID	100000000 /* beyond what the kernel gives out: /proc knows nothing of it */
#define NPIDS	200	  /* they are used again and again */
#define NSYMS	2000	  /* 120 KB in memory */
#define NBUILDS 10000
#define FEW	10 /* files at a time */
#define BUDGET	((uint64_t)4 << 20)
#define BASE	0x400000
#define TEXT	0x1000

static char dir[] = "/tmp/budget-XXXXXX";

struct build {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[5];
	Elf64_Sym syms[NSYMS + 1];
	char names[1 + NSYMS * 24];
};

static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";

/* Writes a program with the functions b<build>_0, b<build>_1, ... of 16 bytes each. */
static void build_write(uint32_t build, char path[64])
{
	struct build *m = xcalloc(1, sizeof(*m) + sizeof(section_names));
	size_t names = 1;
	FILE *f;

	m->eh = (Elf64_Ehdr){.e_ident = ELFMAG,
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = offsetof(struct build, ph),
			     .e_shoff = offsetof(struct build, sh),
			     .e_ehsize = sizeof(m->eh),
			     .e_phentsize = sizeof(m->ph),
			     .e_phnum = 1,
			     .e_shentsize = sizeof(m->sh[0]),
			     .e_shnum = 5,
			     .e_shstrndx = 4};
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	m->eh.e_ident[EI_VERSION] = EV_CURRENT;
	m->ph = (Elf64_Phdr){.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_offset = TEXT,
			     .p_vaddr = BASE + TEXT,
			     .p_filesz = NSYMS * 16,
			     .p_memsz = NSYMS * 16};
	for (uint32_t i = 0; i < NSYMS; i++) {
		m->syms[i + 1] = (Elf64_Sym){.st_name = (Elf64_Word)names,
					     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					     .st_shndx = 1,
					     .st_value = BASE + TEXT + i * 16,
					     .st_size = 16};
		names += (size_t)snprintf(m->names + names, 24, "b%u_%u", build, i) + 1;
	}
	m->sh[1] = (Elf64_Shdr){.sh_name = 1,
				.sh_type = SHT_PROGBITS,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_addr = BASE + TEXT,
				.sh_offset = TEXT,
				.sh_size = NSYMS * 16};
	m->sh[2] = (Elf64_Shdr){.sh_name = 7,
				.sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(struct build, syms),
				.sh_size = sizeof(m->syms),
				.sh_link = 3,
				.sh_entsize = sizeof(m->syms[0])};
	m->sh[3] = (Elf64_Shdr){.sh_name = 15,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct build, names),
				.sh_size = names};
	m->sh[4] = (Elf64_Shdr){.sh_name = 23,
				.sh_type = SHT_STRTAB,
				.sh_offset = sizeof(*m),
				.sh_size = sizeof(section_names)};
	memcpy(m + 1, section_names, sizeof(section_names));
	(void)snprintf(path, 64, "%s/b%u", dir, build);
	f = fopen(path, "we");
	if (!f || fwrite(m, sizeof(*m) + sizeof(section_names), 1, f) != 1 || fclose(f) != 0)
		exit(1);
	free(m);
}

/* The process executes the program of that path. */
static void build_run(struct usyms *u, uint32_t build, const char *path, uint64_t time)
{
	struct stat st;
	struct sym_map m = {.start = BASE + TEXT,
			    .len = NSYMS * 16,
			    .off = TEXT,
			    .path = path,
			    .is_exec = true};

	if (stat(path, &st) != 0)
		exit(1);
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	uprocs_forked(&u->procs, PID + build % NPIDS, PID - 1, time);
	uprocs_execed(&u->procs, PID + build % NPIDS, time + 1);
	uprocs_mapped(&u->procs, PID + build % NPIDS, &m, time + 2);
	u->time = time + 3;
}

/* True if function i of the build has its name. */
static bool is_named(struct usyms *u, uint32_t build, uint32_t i)
{
	struct sym_name n;
	char want[24];

	(void)snprintf(want, sizeof(want), "b%u_%u", build, i);
	return usyms_find(u, PID + build % NPIDS, BASE + TEXT + i * 16 + 3, &n) && n.name &&
	       n.off == 3 && strcmp(n.name, want) == 0;
}

static void usyms_open(struct usyms *u)
{
	usyms_init(u);
	u->procs.is_told = true;
	u->procs.files.opts.images->max_bytes = BUDGET;
}

/* Every build runs for a while and is deleted. */
static void test_month(void)
{
	size_t early = 0, late = 0;
	uint64_t bytes = 0, nfds = 0, nwrong = 0;
	struct usyms u;
	char path[64];

	usyms_open(&u);
	for (uint32_t n = 0; n < NBUILDS; n++) {
		size_t *peak = n < NBUILDS / 2 ? &early : &late;
		uint64_t time = 1000 + 10 * (uint64_t)n;

		build_write(n, path);
		build_run(&u, n, path, time);
		nwrong += !is_named(&u, n, n % NSYMS);
		(void)unlink(path);
		uprocs_ended(&u.procs, PID + n % NPIDS, time + 5);
		uprocs_tick(&u.procs);
		u.procs.files.check_at = 0; /* the search for deleted files is always due */
		bytes = MAX(bytes, u.procs.files.opts.images->bytes);
		nfds = MAX(nfds, u.procs.files.opts.images->nopen);
		if (n % 100 == 0)
			*peak = MAX(*peak, mallinfo2().uordblks);
	}
	printf("# at most %zu KB in the first half, %zu KB in the second; %llu files open\n",
	       early / 1024, late / 1024, (unsigned long long)nfds);
	is_int(nwrong, 0, "each build has its names");
	ok(bytes <= BUDGET, "what is counted for names: %llu bytes", (unsigned long long)bytes);
	/* sanitizers have a malloc() of their own, which does not say what it gave out */
	ok(!early || late < early + early / 4, "memory does not grow in the second half");
	ok(nfds < 2 * BUDGET / (NSYMS * 16), "deleted files do not stay open");
	usyms_deinit(&u);
}

/* More files than there is memory for are looked at in turn. */
static void test_again(void)
{
	struct usyms u;
	char paths[FEW][64];
	uint64_t nwrong = 0;

	usyms_open(&u);
	u.procs.files.opts.images->max_bytes = 300000;
	for (uint32_t n = 0; n < FEW; n++) {
		build_write(n, paths[n]);
		build_run(&u, n, paths[n], 1000 + 10 * n);
	}
	u.time = 2000;
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t n = 0; n < FEW; n++)
			nwrong += !is_named(&u, n, i * 7) ||
				  u.procs.files.opts.images->bytes > 300000;
	is_int(nwrong, 0, "names that were freed are read again");
	ok(u.procs.files.opts.images->nshed > FEW, "%u tables were freed",
	   u.procs.files.opts.images->nshed);
	/* what was found needs no table */
	for (uint32_t n = 0; n < FEW; n++)
		(void)unlink(paths[n]);
	u.procs.files.opts.images->nshed = 0;
	for (uint32_t n = 0; n < FEW; n++)
		nwrong += !is_named(&u, n, 7);
	is_int(nwrong + u.procs.files.opts.images->nshed, 0,
	       "what was found once is known without its file");
	usyms_deinit(&u);
}

/* Names of a file that was closed and is gone are missing, and that is known. */
static void test_given_up(void)
{
	struct usyms u;
	struct sym_name name;
	char path[64];

	usyms_open(&u);
	build_write(1, path);
	build_run(&u, 1, path, 1000);
	ok(is_named(&u, 1, 1) && !u.is_given_up, "a file that is there");
	(void)unlink(path);
	uprocs_ended(&u.procs, PID + 1, 2000);
	u.procs.files.opts.images->max_bytes = 1000;
	uprocs_tick(&u.procs);
	is_int(u.procs.files.opts.images->nopen, 0,
	       "a deleted file is closed when there is no room for it");
	ok(usyms_find(&u, PID + 1, BASE + TEXT + 16 * 5, &name) && !name.name && u.is_given_up,
	   "its names are given up, which is known");
	is_str(name.object, "b1", "the object stays");
	is_int(u.procs.files.ngiven_up, 1, "one file");
	usyms_deinit(&u);
}

/* A file that nobody could open is gone, and another one has got its inode. */
static void test_inode_again(void)
{
	struct sym_map first = {.start = BASE + TEXT,
				.len = NSYMS * 16,
				.off = TEXT,
				.gen = 1,
				.path = "/nowhere/gone",
				.is_exec = true};
	struct sym_map second = first;
	struct sym_name name;
	struct usyms u;
	struct stat st;
	char path[64];

	usyms_open(&u);
	build_write(1, path);
	if (stat(path, &st) != 0)
		exit(1);
	first.dev = second.dev = st.st_dev;
	first.ino = second.ino = st.st_ino;
	second.gen = 2;
	second.path = path;
	uprocs_mapped(&u.procs, PID, &first, 1000);
	uprocs_mapped(&u.procs, PID + 1, &second, 1001);
	u.time = 2000;
	ok(is_named(&u, 1, 1), "a file that has got the inode of another one");
	ok(usyms_find(&u, PID, BASE + TEXT + 3, &name) && !name.name, "that one has no names");
	is_str(name.object, "gone", "its object");
	(void)unlink(path);
	usyms_deinit(&u);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_month();
	test_again();
	test_given_up();
	test_inode_again();
	(void)rmdir(dir);
	return tap_done();
}
