/* SPDX-License-Identifier: MIT */
/* Rows of an ELF file that is made here for the architecture. */
#include <dwarf.h>
#include <elf.h>
#include <libelf.h>

#include "arch/arch.h"
#include "image/ehframe.h"
#include "tap.h"

#define CODE 0x400u /* offset and address of a function */
#define LEN  16u

static const char names[] = "\0.eh_frame\0.shstrtab";

struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[3];
	char names[32];
	uint8_t frames[256];
	uint32_t len; /* of frames */
};

static void put(struct file *f, const void *bytes, size_t len)
{
	memcpy(f->frames + f->len, bytes, len);
	f->len += (uint32_t)len;
}

static void put_u32(struct file *f, uint32_t v)
{
	put(f, &v, sizeof(v));
}

static void entry_end(struct file *f, uint32_t begin)
{
	uint32_t len = f->len - begin - 4;

	memcpy(f->frames + begin, &len, sizeof(len));
}

/* At the begin of a function, the CFA is what the call made of the stack pointer. */
static void put_cie(struct file *f)
{
	const struct arch_unwind *u = &arch.unwind;
	uint8_t head[] = {1, 0, 1, 0x78 /* -8 */, (uint8_t)u->ra};
	uint8_t def[] = {DW_CFA_def_cfa, (uint8_t)u->sp, u->has_link ? 0 : 8};
	uint8_t ra[] = {(uint8_t)(DW_CFA_offset | u->ra), 1};
	uint32_t begin = f->len;

	put_u32(f, 0);
	put_u32(f, 0);
	put(f, head, sizeof(head));
	put(f, def, sizeof(def));
	if (!u->has_link)
		put(f, ra, sizeof(ra));
	entry_end(f, begin);
}

static uint32_t first_saved(void)
{
	for (uint32_t reg = 0; reg < arch.unwind.nregs; reg++)
		if (arch.unwind.saved[reg] == 1)
			return reg;
	return 0;
}

/* From byte 4 on: CFA = sp + 48, fp at CFA - 16 or - 32, maybe the return address above it. */
static void put_fde(struct file *f)
{
	const struct arch_unwind *u = &arch.unwind;
	uint64_t range[] = {CODE, LEN};
	uint8_t begin_code[] = {DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 48};
	uint8_t fp[] = {(uint8_t)(DW_CFA_offset | u->fp), u->has_link ? 4 : 2};
	uint8_t ra[] = {(uint8_t)(DW_CFA_offset | u->ra), 3};
	uint8_t saved[] = {(uint8_t)(DW_CFA_offset | first_saved()), 5};
	uint32_t begin = f->len;

	put_u32(f, 0);
	put_u32(f, begin + 4); /* distance to the CIE at the begin of the section */
	put(f, range, sizeof(range));
	put(f, begin_code, sizeof(begin_code));
	put(f, fp, sizeof(fp));
	if (u->has_link)
		put(f, ra, sizeof(ra));
	put(f, saved, sizeof(saved));
	entry_end(f, begin);
}

static void file_make(struct file *f, uint32_t machine)
{
	*f = (struct file){
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_DYN,
		       .e_machine = (uint16_t)machine,
		       .e_version = EV_CURRENT,
		       .e_phoff = offsetof(struct file, ph),
		       .e_shoff = offsetof(struct file, sh),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1,
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 3,
		       .e_shstrndx = 2},
		.ph = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x1000},
		.sh = {[1] = {.sh_name = 1,
			      .sh_type = SHT_PROGBITS,
			      .sh_offset = offsetof(struct file, frames)},
		       [2] = {.sh_name = 11,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct file, names),
			      .sh_size = sizeof(names)}},
	};
	memcpy(f->names, names, sizeof(names));
	put_cie(f);
	put_fde(f);
	f->sh[1].sh_size = f->len;
}

static void test_rows(void)
{
	bool has_link = arch.unwind.has_link;
	const struct unwind_row *row;
	struct unwind_rows r;
	struct file f;

	file_make(&f, arch.elf.machine);
	unwind_rows_read_memory(&f, sizeof(f), &r);
	is_int(r.rows.len, 3, "rows: before and behind the code that makes the frame, the end");
	row = unwind_row_find(&r, CODE);
	is_int(row->kind, has_link ? UNWIND_IN_REG : UNWIND_SP, "at the begin");
	is_int(row->reg, has_link ? arch.unwind.ra : 0, "the return address is where calls put it");
	is_int(row->cfa, has_link ? 0 : 8, "and the CFA what the stack pointer was");
	row = unwind_row_find(&r, CODE + LEN - 1);
	is_int(row->kind, UNWIND_SP, "in the function");
	is_int(row->cfa, 48, "CFA");
	is_int(row->fp, has_link ? 32 : 16, "the caller's frame pointer");
	is_int(RULE_FP(unwind_row_rule(row)), has_link ? 4 : 2, "and in the rule");
	is_int(unwind_row_find(&r, CODE + LEN)->kind, UNWIND_NONE, "behind it");
	unwind_rows_deinit(&r);
}

static void test_saved(void)
{
	struct unwind_rows r;
	struct file f;
	uint32_t rule;

	file_make(&f, arch.elf.machine);
	unwind_saved_read_memory(&f, sizeof(f), &r);
	rule = unwind_row_rule(unwind_row_find(&r, CODE + LEN - 1));
	is_int(RULE_KIND(rule), UNWIND_SAVED, "callee-saved registers");
	is_int(RULE_SAVED(rule, 0), 5, "the first is at CFA - 40");
	is_int(RULE_SAVED(rule, 1), 0, "the second is unchanged");
	unwind_rows_deinit(&r);
}

static void test_other(void)
{
	struct unwind_rows r;
	struct file f;

	file_make(&f, EM_S390);
	unwind_rows_read_memory(&f, sizeof(f), &r);
	is_int(r.rows.len, 0, "a file for another processor has no rows");
	unwind_rows_deinit(&r);
}

int main(void)
{
	(void)elf_version(EV_CURRENT);
	test_rows();
	test_saved();
	test_other();
	return tap_done();
}
