/* SPDX-License-Identifier: MIT */
/* Symbols that are looked up in the file are those that are found when all of it is read. */
#include "image/symsparse.h"

#include <fcntl.h>
#include <string.h>

#include "files/gate.h"
#include "tap.h"

#define LOOKUPS 240 /* symbols of a file; four lookups each */

static bool is_same(const struct elf_sym *a, const struct elf_sym *b)
{
	if (!a || !b)
		return a == b;
	return a->addr == b->addr && a->size == b->size && a->kind == b->kind &&
	       strcmp(a->name, b->name) == 0;
}

/* Whether both find the same at an address, which is the same in all of the range. */
static bool address_compare(struct elf_syms *all, struct elf_syms *few, uint64_t addr)
{
	struct elf_range range = {0}, other;
	const struct elf_sym *found = elf_syms_find_range(few, addr, &range),
			     *want = elf_syms_find_range(all, addr, &other);

	return is_same(found, want) && range.start <= addr && addr < range.end &&
	       is_same(elf_syms_find(all, range.start), want) &&
	       is_same(elf_syms_find(all, range.end - 1), want);
}

static void test_file(const char *path, bool is_there)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	uint32_t bad = 0, n = 0;
	struct elf_syms *all, *few;
	uint64_t first = 0;

	if (fd < 0 && !is_there) {
		ok(true, "%s: not here # SKIP", path);
		return;
	}
	all = elf_syms_read(file, GATE_LIMIT_DEFAULT, NULL);
	few = elf_syms_read_sparse(file, GATE_LIMIT_DEFAULT, NULL);
	if (!few->sparse && !is_there) {
		ok(true, "%s: it has no .symtab # SKIP", path);
	} else {
		for (uint32_t i = 0; i < LOOKUPS; i++) {
			const struct elf_sym *sym =
				&all->syms.data[(uint64_t)i * all->syms.len / LOOKUPS];
			uint64_t at[] = {sym->addr, sym->addr - 1, sym->end - 1, sym->end};

			for (uint32_t k = 0; k < ARRAY_LEN(at); k++, n++)
				if (!address_compare(all, few, at[k]) && !bad++)
					first = at[k];
		}
		ok(few->sparse && n && !bad, "%s: %u of %u addresses have another name (0x%jx)",
		   path, bad, n, (uintmax_t)first);
		elf_syms_fill(few);
		ok(few->is_filled && few->syms.len == all->syms.len, "%s: all %u can be had", path,
		   all->syms.len);
	}
	elf_syms_destroy(all);
	elf_syms_destroy(few);
}

static void test_many(void)
{
	CLEANUP(fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	struct elf_syms *s = elf_syms_read_sparse(file, GATE_LIMIT_DEFAULT, NULL);
	const struct elf_sym *one, *again;
	bool was_filled = s->is_filled;

	one = elf_syms_find(s, s->segments.list.data[0].addr);
	for (uint32_t i = 0; !one && i < s->segments.list.len; i++)
		if (s->segments.list.data[i].is_exec)
			one = elf_syms_find(s, s->segments.list.data[i].addr + 0x100);
	for (uint32_t i = 0; i < 2000; i++)
		again = elf_syms_find(s, one ? one->addr : 0);
	ok(one && !was_filled && s->is_filled && is_same(one, again),
	   "after many lookups all is read, and what was found before is there");
	elf_syms_shed(s);
	ok(!elf_syms_find(s, 1), "nothing is found when it was shed");
	elf_syms_destroy(s);
}

int main(void)
{
	(void)elf_version(EV_CURRENT);
	test_file("/proc/self/exe", true);
	test_file("/usr/bin/node", false);
	test_many();
	return tap_done();
}
