/* SPDX-License-Identifier: MIT */
/* The segments of this program, of a made file, and of none. */
#include "image/segments.h"

#include <fcntl.h>

#include "files/gate.h"
#include "target/maps.h"
#include "tap.h"

static const char here[] = "in a segment that is not code";

/* What the file has at the offset of an address in memory is what memory has there. */
static void test_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct gate_file *file = gate_file_of(fd);
	uint64_t bias = 0, off = 0, addr = 0, start, end, at = (uintptr_t)here;
	struct image_segments all, code;
	const struct proc_map *m;
	const struct image_segment *s;
	char text[sizeof(here)] = "";
	struct proc_maps maps;
	struct gate_elf g;
	GElf_Phdr ph;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	if (proc_maps_read(getpid(), &maps))
		exit(1);
	segments_read(&all, g.elf);
	segments_read_code(&code, g.elf);
	ok(program_header_find(g.elf, PT_INTERP, &ph), "it has an interpreter");
	ok(!program_header_find(g.elf, PT_SHLIB, &ph), "and no header of a type that nobody has");
	gate_elf_close(&g);
	ok(all.list.len > code.list.len && code.list.len, "segments, some of them code");
	m = proc_maps_find(&maps, at);
	ok(m && segments_bias(&all, m->start, m->off, m->is_exec, &bias), "where it is mapped");
	s = segments_at(&all, at - bias, sizeof(here));
	ok(s && !s->is_exec && !s->is_write, "a constant is in a segment that only is read");
	ok(segments_off(&all, at - bias, &off) &&
		   gate_file_read(file, text, sizeof(text), off) == sizeof(text),
	   "the file has it");
	is_str(text, here, "at that offset");
	ok(segments_addr(&all, off, &addr) && addr == at - bias, "and back");
	ok(!segments_at(&code, at - bias, 1), "it is no code");
	ok(segments_page_addr(&all, m->off, &addr) && addr == m->start - bias,
	   "the address at which its mapping begins");
	segments_span(&all, &start, &end);
	ok(start == 0 && end > at - bias, "from the first byte to behind the last");
	segments_deinit(&all);
	segments_deinit(&code);
	proc_maps_deinit(&maps);
	gate_file_close(file);
	(void)close(fd);
}

/* A file of headers: data that ends in the page where code begins, 32 bits wide. */
struct narrow {
	Elf32_Ehdr eh;
	Elf32_Phdr ph[SEGMENTS_MAX + 8];
};

static struct narrow narrow_make(uint32_t n)
{
	struct narrow f = {.eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					      ELFDATA2LSB, EV_CURRENT},
				  .e_type = ET_DYN,
				  .e_version = EV_CURRENT,
				  .e_phoff = sizeof(Elf32_Ehdr),
				  .e_ehsize = sizeof(Elf32_Ehdr),
				  .e_phentsize = sizeof(Elf32_Phdr),
				  .e_phnum = (uint16_t)n}};

	for (uint32_t i = 0; i < n; i++)
		f.ph[i] = (Elf32_Phdr){.p_type = PT_LOAD, .p_offset = 0x100000 * i};
	f.ph[0] = (Elf32_Phdr){.p_type = PT_LOAD,
			       .p_vaddr = 0x10000,
			       .p_filesz = 0x1800,
			       .p_memsz = 0x1000, /* less than it has in the file */
			       .p_flags = PF_R | PF_W};
	f.ph[1] = (Elf32_Phdr){.p_type = PT_LOAD,
			       .p_offset = 0x1800,
			       .p_vaddr = 0x12800,
			       .p_filesz = 0x800,
			       .p_memsz = 0x3000,
			       .p_flags = PF_R | PF_X};
	return f;
}

static void test_narrow(void)
{
	struct narrow f = narrow_make(2);
	struct image_segments s;
	const struct image_segment *found;
	uint64_t bias = 0, addr = 0;
	struct gate_elf g;

	gate_elf_memory((char *)&f, sizeof(f), GATE_LIMIT_DEFAULT, &g);
	segments_read(&s, g.elf);
	is_int(s.list.len, 2, "segments of 32 bits");
	ok(s.list.len == 2 && s.list.data[0].mem_size == 0x1800, "no less memory than bytes");
	found = segments_at(&s, 0x117ff, 1);
	ok(found && found->is_write && !segments_at(&s, 0x117ff, 2), "the last byte of one");
	ok(!segments_at(&s, 0xffff, 1) && !segments_at(&s, UINT64_MAX, 2), "bytes of none");
	ok(!segments_at(&s, 0x13000, 1), "zeros behind the bytes are not in the file");
	ok(segments_bias(&s, 0x400000, 0x1000, false, &bias) && bias == 0x400000 - 0x11000,
	   "a page that is mapped twice: as data");
	ok(segments_bias(&s, 0x600000, 0x1000, true, &bias) && bias == 0x600000 - 0x12000,
	   "and as code");
	ok(!segments_bias(&s, 0x600000, 0x10000, true, &bias), "a mapping of no segment");
	ok(segments_addr(&s, 0x1800, &addr) && addr == 0x12800, "a byte behind the page's middle");
	ok(segments_page_addr(&s, 0x1000, &addr) && addr == 0x11000, "the first segment counts");
	segments_deinit(&s);
	gate_elf_close(&g);
}

static void test_hostile(void)
{
	struct narrow f = narrow_make(SEGMENTS_MAX + 8);
	struct image_segments s;
	uint64_t start, end;
	struct gate_elf g;
	GElf_Phdr ph;

	gate_elf_memory((char *)&f, sizeof(f), GATE_LIMIT_DEFAULT, &g);
	segments_read(&s, g.elf);
	is_int(s.list.len, SEGMENTS_MAX, "no more than so many");
	segments_deinit(&s);
	gate_elf_close(&g);
	segments_read(&s, NULL);
	segments_span(&s, &start, &end);
	ok(!s.list.len && !start && !end, "of no file, there are none");
	ok(!segments_at(&s, 0, 1) && !program_header_find(NULL, PT_LOAD, &ph), "and none is found");
}

int main(void)
{
	test_self();
	test_narrow();
	test_hostile();
	return tap_done();
}
