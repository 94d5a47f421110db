/* SPDX-License-Identifier: MIT */
/* The functions of this very program, and files that are none. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "image/debugfile.h"
#include "image/exits.h"
#include "image/funcs.h"
#include "files/gate.h"
#include "tap.h"

long probe_me(long a);
long probe_me_too(long a) __attribute__((alias("probe_me")));
long _probe_me(long a) __attribute__((alias("probe_me")));

__attribute__((noinline)) long probe_me(long a)
{
	__asm__ volatile("" ::: "memory");
	return a + 1;
}

static struct funcs *read_self(struct gate_file **ret_file)
{
	struct funcs *f = NULL;
	struct err *e;

	*ret_file = gate_file_of(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	e = funcs_read(*ret_file, NULL, &f);
	ok(!e, "our own file can be read");
	err_destroy(e);
	return f;
}

static void test_self(void)
{
	struct gate_file *file;
	struct funcs *f = read_self(&file);
	const struct func *fn = funcs_find(f, "probe_me"), *alias = funcs_find(f, "probe_me_too");
	struct text t = {.file = file};
	struct func_exits exits = {0};
	uint64_t off = 0;

	ok(fn && alias && fn->addr == alias->addr && fn->size == alias->size,
	   "a name and its alias");
	ok(fn && fn->is_canonical && alias && !alias->is_canonical,
	   "the shorter one stands for both");
	ok(funcs_find(f, "_probe_me") && !funcs_find(f, "_probe_me")->is_canonical,
	   "underscores make a name worse");
	ok(fn && funcs_at(f, fn->addr + fn->size - 1) == fn, "its last byte is its");
	ok(fn && funcs_at(f, fn->addr + fn->size) != fn, "the next one is not");
	ok(fn && funcs_off(f, fn->addr, &off) && off == fn->off, "its place in the file");
	ok(fn && funcs_at_off(f, fn->off) == fn, "and back");
	ok(!funcs_find(f, "no_such_function"), "a name that nothing has");
	ok(funcs_find(f, "_init") ? funcs_find(f, "_init")->is_startup : true, "_init is known");
	ok(fn && func_exits_find(f, fn, &t, &exits) && exits.list.len == 1 &&
		   !exits.list.data[0].is_tail,
	   "it returns at one place");
	vec_deinit(&exits.list);
	text_deinit(&t);
	funcs_destroy(f);
	(void)close(gate_file_fd(file));
	gate_file_close(file);
}

static void test_sorted(void)
{
	struct gate_file *file;
	struct funcs *f = read_self(&file);
	bool is_sorted = true, has_one = true;

	for (uint32_t i = 1; i < f->list.len; i++) {
		const struct func *a = &f->list.data[i - 1], *b = &f->list.data[i];

		is_sorted &= a->addr <= b->addr;
		has_one &= b->is_canonical == (a->addr != b->addr);
	}
	ok(f->list.len > 10 && is_sorted, "ascending");
	ok(has_one, "one name stands for each address");
	funcs_destroy(f);
	(void)close(gate_file_fd(file));
	gate_file_close(file);
}

static void test_refused(void)
{
	static const char *const paths[] = {"/proc/self/maps", "/dev/null", "/etc/passwd"};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
		struct funcs *f = NULL;
		struct err *e = funcs_read(file, NULL, &f);

		ok(e && !f, "%s is refused", paths[i]);
		err_destroy(e);
		(void)close(fd);
	}
}

/* Every prefix of a file, and the file with bytes changed: no crash, no function outside of it. */
static void test_damaged(void)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	static uint8_t head[1u << 16];
	ssize_t n = pread(self, head, sizeof(head), 0);
	uint32_t seed = 1, nread = 0;

	for (int i = 0; i < 200; i++) {
		FILE *tmp = tmpfile();
		CLEANUP(gate_file) struct gate_file *file = gate_file_of(fileno(tmp));
		struct funcs *f = NULL;
		struct err *e;

		seed = seed * 1103515245 + 12345;
		head[seed % 4096] ^= (uint8_t)(seed >> 16);
		(void)fwrite(head, 1, (size_t)n * (seed >> 8 & 255) / 255, tmp);
		(void)fflush(tmp);
		e = funcs_read(file, NULL, &f);
		nread += !e;
		err_destroy(e);
		funcs_destroy(f);
		(void)fclose(tmp);
	}
	ok(true, "%u of 200 damaged files were read", nread);
	(void)close(self);
}

/* How many bytes this process has read by system calls. */
static uint64_t bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	unsigned long long n = 0;

	if (!f || fscanf(f, "rchar: %llu", &n) != 1 || fclose(f) != 0)
		exit(1);
	return n;
}

static struct funcs *read_named(const char *path, const struct debug_search *where,
				uint64_t *ret_cost)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct gate_file *file = gate_file_of(fd);
	uint64_t before = bytes_read();
	struct funcs *f = NULL;
	struct err *e = funcs_read(file, where, &f);

	*ret_cost = bytes_read() - before;
	ok(!e, "%s: %s", path, e ? err_text(e) : "it can be read");
	err_destroy(e);
	gate_file_close(file);
	(void)close(fd);
	return f;
}

static void run(const char *cmd)
{
	if (system(cmd) != 0)
		exit(1);
}

/* A stripped file has the functions of its debug file, which is read once; another build's not. */
static void test_debug_file(void)
{
	char dir[] = "/tmp/funcs-XXXXXX", self[1024] = "", cmd[4096], stripped[64], debug[64];
	struct gate *gate = gate_create();
	struct debug_search where = {.path = stripped,
				     .root = -1,
				     .dirs = "",
				     .limit = GATE_LIMIT_DEFAULT,
				     .gate = gate};
	uint64_t bare, full, both;
	struct funcs *f;

	if (!mkdtemp(dir) || readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		exit(1);
	(void)snprintf(stripped, sizeof(stripped), "%s/stripped", dir);
	(void)snprintf(debug, sizeof(debug), "%s/its.debug", dir);
	(void)snprintf(cmd, sizeof(cmd),
		       "objcopy --only-keep-debug %s %s && strip -o %s %s && "
		       "objcopy --add-gnu-debuglink=%s %s",
		       self, debug, stripped, self, debug, stripped);
	run(cmd);
	funcs_destroy(read_named(stripped, NULL, &bare));
	funcs_destroy(read_named(debug, NULL, &full));
	f = read_named(stripped, &where, &both);
	ok(f && funcs_find(f, "probe_me"), "the names of the debug file");
	ok(both < bare + full + full / 2, "which is read once: %llu bytes, of %llu and %llu",
	   (unsigned long long)both, (unsigned long long)bare, (unsigned long long)full);
	funcs_destroy(f);
	(void)snprintf(cmd, sizeof(cmd), "objcopy --remove-section=.note.gnu.build-id %s", debug);
	run(cmd);
	f = read_named(stripped, &where, &both);
	ok(f && !funcs_find(f, "probe_me"), "those of another build are not taken");
	funcs_destroy(f);
	(void)unlink(stripped);
	(void)unlink(debug);
	(void)rmdir(dir);
	gate_destroy(gate);
}

/* A file of functions whose names are the ends of one long text. */
static int overlapping_make(uint32_t nsymbols, uint32_t len)
{
	const uint64_t code = 4096, symbols = 2 * code,
		       names = symbols + nsymbols * sizeof(Elf64_Sym);
	Elf64_Shdr sh[4] = {[1] = {.sh_type = SHT_SYMTAB,
				   .sh_offset = symbols,
				   .sh_size = nsymbols * sizeof(Elf64_Sym),
				   .sh_link = 2,
				   .sh_entsize = sizeof(Elf64_Sym)},
			    [2] = {.sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = len},
			    [3] = {.sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = 1}};
	const Elf64_Phdr ph = {.p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = code,
			       .p_vaddr = code,
			       .p_filesz = code,
			       .p_memsz = code};
	Elf64_Ehdr eh = {.e_type = ET_DYN,
			 .e_machine = arch.elf.machine,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof(eh),
			 .e_phoff = sizeof(eh),
			 .e_phentsize = sizeof(ph),
			 .e_phnum = 1,
			 .e_shoff = sizeof(eh) + sizeof(ph),
			 .e_shentsize = sizeof(sh[0]),
			 .e_shnum = ARRAY_LEN(sh),
			 .e_shstrndx = 3};
	CLEANUP(free) char *text = xcalloc(1, len);
	int fd = memfd_create("overlapping", MFD_CLOEXEC);
	bool is_good;

	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	memset(text + 1, 'f', len - 2);
	is_good = pwrite(fd, &eh, sizeof(eh), 0) > 0 &&
		  pwrite(fd, &ph, sizeof(ph), sizeof(eh)) > 0 &&
		  pwrite(fd, sh, sizeof(sh), (off_t)eh.e_shoff) > 0 &&
		  pwrite(fd, text, len, (off_t)names) > 0;
	for (uint32_t i = 1; i < nsymbols; i++) {
		const Elf64_Sym s = {.st_name = 1 + i % (len / 2),
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				     .st_shndx = 1,
				     .st_value = code + i % code,
				     .st_size = 1};

		is_good &= pwrite(fd, &s, sizeof(s), (off_t)(symbols + i * sizeof(s))) > 0;
	}
	return is_good ? fd : -1;
}

static void test_overlapping(void)
{
	struct gate *gate = gate_create();
	const struct debug_search where = {.root = -1,
					   .dirs = "",
					   .path = "",
					   .limit = 1 << 20,
					   .gate = gate};
	struct gate_file *few = gate_file_of(overlapping_make(16, 20000));
	struct gate_file *many = gate_file_of(overlapping_make(20000, 20000));
	struct funcs *f = NULL;
	struct err *e = funcs_read(few, &where, &f);

	ok(!e && f->list.len == 15, "names that overlap");
	err_destroy(e);
	if (f)
		funcs_destroy(f);
	f = NULL;
	e = funcs_read(many, &where, &f);
	ok(e && strstr(err_text(e), "more than 1048576 bytes"),
	   "take no more memory than the limit allows: %s", e ? err_text(e) : "no error");
	err_destroy(e);
	funcs_destroy(f);
	gate_file_close(few);
	gate_file_close(many);
	gate_destroy(gate);
}

int main(void)
{
	test_self();
	test_overlapping();
	test_sorted();
	test_refused();
	test_damaged();
	test_debug_file();
	return tap_done();
}
