/* SPDX-License-Identifier: MIT */
/* Names in processes: this one, one that ends, files that are no ELF. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "image/elfsym.h"
#include "files/gate.h"
#include "sym/sym.h"
#include "tap.h"

__attribute__((noinline)) static int a_function(int x)
{
	return x * 3 + 1;
}

static char a_variable[4096] = {1};
static char an_empty_variable[1 << 16];

static uint64_t self(void)
{
	return (uint64_t)getpid();
}

static taddr addr_of(const void *p)
{
	return (taddr)(uintptr_t)p;
}

static void test_self(struct syms *s)
{
	taddr func = addr_of((const void *)a_function),
	      libc = addr_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	struct sym_name n;

	ok(syms_find(s, self(), func, &n), "our own function");
	is_str(n.name ? n.name : "", "a_function", "its name");
	is_str(n.object, "unit_sym_usym", "its object");
	is_int(n.off, 0, "its start");
	ok(syms_find(s, self(), func + 1, &n) && n.off == 1, "an offset");
	is_int(syms_start(s, self(), func + 1, false), func, "reduced to the function");
	ok(syms_start(s, self(), func, true) < func, "reduced to the object");
	is_int(syms_start(s, self(), func, true), syms_start(s, self(), addr_of(a_variable), true),
	       "whose data belong to the same");
	ok(syms_find(s, self(), addr_of(a_variable) + 8, &n) && n.name, "data");
	is_str(n.name ? n.name : "", "a_variable", "its name");
	is_int(n.off, 8, "an offset in it");
	ok(syms_find(s, self(), addr_of(an_empty_variable), &n) && n.name, "zeroed data");
	is_str(n.name ? n.name : "", "an_empty_variable", "its name");
	ok(libc && syms_find(s, self(), libc, &n) && n.name &&
		   strcmp(n.name, "gnu_get_libc_version") == 0,
	   "a dynamic symbol of a library");
	is_str(n.object, "libc.so.6", "the library");
	ok(!syms_find(s, self(), 16, &n) && !n.object && !n.name, "nothing is mapped there");
	is_int(syms_start(s, self(), 16, false), 16, "so it stays as it is");
	ok(!syms_find(s, self(), addr_of(&n), &n), "the stack has no object");
}

static void test_vdso(struct syms *s)
{
	taddr image = getauxval(AT_SYSINFO_EHDR);
	struct elf_syms *e =
		image ? elf_syms_read_memory((const void *)(uintptr_t)image, 8192) : NULL;
	struct sym_name n;

	if (!e || !e->syms.len) {
		ok(true, "vDSO # SKIP there is none");
		elf_syms_destroy(e);
		return;
	}
	ok(syms_find(s, self(), image + e->syms.data[0].addr, &n) && n.name &&
		   strcmp(n.name, e->syms.data[0].name) == 0,
	   "vDSO: '%s'", n.name ? n.name : "");
	is_str(n.object ? n.object : "", "[vdso]", "its object");
	elf_syms_destroy(e);
}

/* A child that was seen is known after its end; its mappings change meanwhile. */
static void test_ended(struct syms *s)
{
	taddr func = addr_of((const void *)a_function);
	struct sym_name n;
	pid_t pid = fork(), other;

	if (pid == 0)
		for (;;)
			(void)pause();
	syms_see(s, (uint64_t)pid);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	ok(syms_find(s, (uint64_t)pid, func, &n) && n.name && strcmp(n.name, "a_function") == 0,
	   "names outlive a process that was seen");
	syms_tick(s);
	ok(syms_find(s, (uint64_t)pid, func, &n) && n.name, "also after a tick");

	other = fork();
	if (other == 0)
		_exit(0);
	(void)waitpid(other, NULL, 0);
	ok(!syms_find(s, (uint64_t)other, func, &n), "one that was never seen has none");
}

static void test_new_mapping(struct syms *s)
{
	struct sym_name n;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *p;

	syms_see(s, self());
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	ok(!syms_find(s, self(), addr_of(p), &n), "mapped after it was looked at");
	syms_tick(s);
	ok(syms_find(s, self(), addr_of(p), &n), "found after a tick");
	(void)munmap(p, 4096);
	syms_tick(s);
	ok(syms_find(s, self(), addr_of(p), &n), "what was there stays known");
}

/* Any prefix of this program, and with bytes overwritten: no crash, no endless loop. */
static void test_bad_files(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/self/exe", "re");
	CLEANUP(free) char *image = xmalloc(1 << 20);
	size_t size = f ? fread(image, 1, 1 << 20, f) : 0;
	uint32_t seed = 1;

	for (int i = 0; i < 300; i++) {
		CLEANUP(free) char *copy = xmalloc(size);
		size_t len = i < 100 ? size * (size_t)i / 100 : size;
		struct elf_syms *e;
		uint64_t addr;

		memcpy(copy, image, size);
		for (int k = 0; i >= 100 && k < 8; k++) {
			seed = seed * 1664525 + 1013904223;
			copy[seed % (i < 200 ? 64 : size)] = (char)(seed >> 24);
		}
		e = elf_syms_read_memory(copy, len);
		(void)segments_addr(&e->segments, 64, &addr);
		(void)elf_syms_find(e, 0x1234);
		elf_syms_destroy(e);
	}
	ok(size > 0, "truncated and damaged files");
}

/* Against what nm says of this program. */
static void test_nm(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	struct elf_syms *e = elf_syms_read(file, GATE_LIMIT_DEFAULT, NULL);
	char cmd[64], line[1024], name[256], type;
	unsigned long long addr, size;
	uint32_t n = 0, nwrong = 0;
	FILE *nm;

	(void)snprintf(cmd, sizeof(cmd), "nm -S --defined-only /proc/%d/exe", (int)getpid());
	nm = popen(cmd, "re");
	while (nm && fgets(line, sizeof(line), nm)) {
		const struct elf_sym *f;

		if (sscanf(line, "%llx %llx %c %255s", &addr, &size, &type, name) != 4 ||
		    !strchr("tT", type))
			continue; /* marks that are no functions have no size */
		f = elf_syms_find(e, addr);
		if (!f)
			continue;
		n++;
		nwrong += f->addr != addr && f->size == 0;
		if (f->addr == addr && strcmp(f->name, name) != 0) {
			/* an alias: then both are there */
			nwrong += f->kind != ELF_SYM_FUNC && f->kind != ELF_SYM_IFUNC;
		}
	}
	if (nm)
		(void)pclose(nm);
	ok(n > 20 || !nm, "%u functions of nm", n);
	is_int(nwrong, 0, "found at their addresses");
	elf_syms_destroy(e);
	if (fd >= 0)
		(void)close(fd);
}

int main(void)
{
	struct syms *s = syms_create();

	(void)a_function(a_variable[0]);
	test_self(s);
	test_vdso(s);
	test_ended(s);
	test_new_mapping(s);
	test_bad_files();
	test_nm();
	syms_destroy(s);
	return tap_done();
}
