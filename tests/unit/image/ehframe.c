/* SPDX-License-Identifier: MIT */
/* Unwind rows of stock binaries: at each place what libdw finds there. */
#include "image/ehframe.h"
#include "arch/arch.h"
#include "files/gate.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>

#include "tap.h"

#define REG_RBP 6
#define WORD_R9 8 /* of struct pt_regs */
#define REG_RSP 7
#define REG_RA	16
#define PADDING 16
#define SHOWN	5

struct file {
	Elf *elf;
	Dwarf_CFI *cfi;
	struct unwind_rows rows;
};

/* Address of a file offset in code; 0: none. */
static uint64_t addr_of(const struct file *f, uint64_t off)
{
	size_t n = 0;
	GElf_Phdr ph;

	(void)elf_getphdrnum(f->elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(f->elf, (int)i, &ph); i++)
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X) && off >= ph.p_offset &&
		    off - ph.p_offset < ph.p_filesz)
			return off - ph.p_offset + ph.p_vaddr;
	return 0;
}

static bool is_op(const Dwarf_Op *ops, size_t n, size_t i, int atom, int64_t number)
{
	return i < n && ops[i].atom == atom && (int64_t)ops[i].number == number;
}

static uint32_t nindexed; /* rows whose CFA depends on a number in a register */

/* What is in a row of *(REG + off + ...) + plus, whose DW_OP_deref is operation `deref`. */
static int32_t deref_cfa(uint32_t word, const Dwarf_Op *ops, size_t n, size_t deref)
{
	const uint64_t plus = n == deref + 2 ? ops[deref + 1].number : 0;

	return (int32_t)(RULE_DEREF(word, plus, (int64_t)ops[0].number) & 0xfffff);
}

/* What libdw says about the CFA, as a row. */
static struct unwind_row cfa_of(Dwarf_Frame *fr)
{
	struct unwind_row row = {.kind = UNWIND_NONE};
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(fr, &ops, &n) || n == 0)
		return row;
	if (n == 1 && (ops[0].atom == DW_OP_bregx ||
		       (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31))) {
		bool is_x = ops[0].atom == DW_OP_bregx;

		row.reg = is_x ? (uint8_t)ops[0].number : (uint8_t)(ops[0].atom - DW_OP_breg0);
		row.cfa = (int32_t)(is_x ? ops[0].number2 : ops[0].number);
		row.kind = row.reg == REG_RSP	? UNWIND_SP
			   : row.reg == REG_RBP ? UNWIND_FP
						: UNWIND_REG;
		row.reg = row.kind == UNWIND_REG ? row.reg : 0;
	} else if (is_op(ops, n, 0, DW_OP_breg7, 160) && n == 2) {
		row.kind = UNWIND_SIGNAL;
	} else if (n >= 2 && (ops[0].atom == DW_OP_breg6 || ops[0].atom == DW_OP_breg7) &&
		   ops[1].atom == DW_OP_deref) {
		row.kind = ops[0].atom == DW_OP_breg6 ? UNWIND_FP_DEREF : UNWIND_SP_DEREF;
		row.cfa = deref_cfa(RULE_NO_REG, ops, n, 1);
	} else if (n == 7 && ops[0].atom == DW_OP_breg7 && is_op(ops, n, 1, DW_OP_breg9, 0) &&
		   ops[2].atom == DW_OP_lit8 && ops[3].atom == DW_OP_mul &&
		   ops[4].atom == DW_OP_plus && ops[5].atom == DW_OP_deref) {
		row.kind = UNWIND_SP_DEREF;
		row.cfa = deref_cfa(WORD_R9, ops, n, 5);
		nindexed++;
	} else if (n == 9 && is_op(ops, n, 0, DW_OP_breg7, 8) && ops[8].atom == DW_OP_plus) {
		row.kind = UNWIND_PLT;
		row.cfa = ops[4].atom - DW_OP_lit0;
	}
	return row;
}

/* Where it says rbp is; false when our rows cannot say it. */
static bool fp_of(Dwarf_Frame *fr, int16_t *ret)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(fr, REG_RBP, mem, &ops, &n))
		return false;
	*ret = UNWIND_FP_SAME;
	if (n == 0) /* same, or undefined: then ops is mem */
		return true;
	if (n == 1 && ops[0].atom == DW_OP_breg6 && ops[0].number == 0) {
		*ret = UNWIND_FP_AT_FP;
		return true;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa || n > 2 ||
	    (n == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	*ret = (int16_t)(n == 2 ? -(int64_t)ops[1].number : 0);
	return true;
}

static bool is_ra_undefined(Dwarf_Frame *fr)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	return dwarf_frame_register(fr, REG_RA, mem, &ops, &n) == 0 && n == 0 && ops == mem;
}

/* Is the return address in a register? */
static bool is_ra_in_register(Dwarf_Frame *fr, uint8_t *ret_reg)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(fr, REG_RA, mem, &ops, &n) != 0 || n != 1 ||
	    (ops[0].atom != DW_OP_regx && (ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31)))
		return false;
	*ret_reg = (uint8_t)(ops[0].atom == DW_OP_regx ? ops[0].number
						       : ops[0].atom - (unsigned)DW_OP_reg0);
	return true;
}

static uint32_t saved_bits_of(Dwarf_Frame *fr, uint32_t i);

/* Makes a plain row of one of UNWIND_CARRY; false: libdw has the register elsewhere. */
static bool carry_undo(struct unwind_row *row, Dwarf_Frame *fr)
{
	bool same;

	if (row->kind != UNWIND_CARRY)
		return true;
	same = saved_bits_of(fr, RULE_NSAVED - 1) == (row->reg & 31u);
	row->kind = row->reg & UNWIND_CARRY_FP ? UNWIND_FP : UNWIND_SP;
	row->reg = 0;
	return same;
}

static bool is_same(const struct unwind_row *found, uint64_t addr, Dwarf_CFI *cfi)
{
	struct unwind_row row, plain = *found;
	const struct unwind_row *ours = &plain;
	Dwarf_Frame *fr = NULL;
	bool same;

	/* code without call frame information may have been followed: unit/image/nocfi.c */
	if (dwarf_cfi_addrframe(cfi, addr, &fr))
		return ours->kind == UNWIND_NONE || ours->kind == UNWIND_SP;
	same = carry_undo(&plain, fr);
	row = cfa_of(fr);
	if (is_ra_undefined(fr))
		row = (struct unwind_row){.kind = UNWIND_END};
	else if (row.kind != UNWIND_SIGNAL && !fp_of(fr, &row.fp))
		row.kind = UNWIND_NONE;
	else if (row.kind == UNWIND_SP && is_ra_in_register(fr, &row.reg))
		row.kind = UNWIND_IN_REG;
	same = same && ours->kind == row.kind &&
	       (ours->kind == UNWIND_NONE || ours->kind == UNWIND_END ||
		(ours->cfa == row.cfa && ours->reg == row.reg && ours->fp == row.fp));
	if (!same)
		printf("# %#lx: ours %d reg %d cfa %d rbp %d, libdw %d reg %d cfa %d rbp %d\n",
		       (long)addr, ours->kind, ours->reg, ours->cfa, ours->fp, row.kind, row.reg,
		       row.cfa, row.fp);
	free(fr);
	return same;
}

/* First and last byte of each row, but for padding that has been given to the function before. */
static uint32_t compare(const struct file *f, uint32_t *ret_n)
{
	const struct unwind_rows *r = &f->rows;
	uint32_t bad = 0, n = 0, step = 1 + r->rows.len / 20000;

	for (uint32_t i = 0; i + 1 < r->rows.len && bad < SHOWN; i++) {
		const struct unwind_row *row = &r->rows.data[i];

		if (i % step && row->kind != UNWIND_SP_DEREF)
			continue; /* of a large file, some of the others are enough */

		uint64_t first = addr_of(f, row->off), last = first + row[1].off - row->off - 1;
		Dwarf_Frame *fr = NULL;

		if (!first)
			continue;
		n++;
		bad += !is_same(row, first, f->cfi);
		if (dwarf_cfi_addrframe(f->cfi, last, &fr) == 0)
			bad += !is_same(row, last, f->cfi);
		free(fr);
	}
	*ret_n = n;
	return bad;
}

/*
 * Where libdw says that a callee-saved register is, as 5 bits of a rule (arch/rule.h). dwarf: r15,
 * r14, r13, r12, rbx.
 */
static uint32_t saved_bits_of(Dwarf_Frame *fr, uint32_t i)
{
	static const int dwarf[RULE_NSAVED] = {15, 14, 13, 12, 3};
	Dwarf_Op mem[3], *ops;
	int64_t off;
	size_t n;

	if (dwarf_frame_register(fr, dwarf[i], mem, &ops, &n))
		return RULE_SAVED_LOST;
	if (n == 0) /* undefined; same. libdw has rbx as undefined where no rule names it. */
		return ops == mem && i < RULE_NSAVED - 1 ? RULE_SAVED_LOST : 0;
	if (n == 1 && ops[0].atom == DW_OP_breg6) {
		off = -(int64_t)ops[0].number / 8;
		return off >= 1 && off < RULE_SAVED_LOST - RULE_SAVED_FAR
			       ? RULE_SAVED_FAR + (uint32_t)off
			       : RULE_SAVED_LOST;
	}
	if (n != 2 || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_plus_uconst)
		return RULE_SAVED_LOST;
	off = -(int64_t)ops[1].number / 8;
	return off >= 1 && off <= RULE_SAVED_FAR ? (uint32_t)off : RULE_SAVED_LOST;
}

/* Rows of callee-saved registers: compares each row's first address; counts registers in memory. */
static void test_saved(const char *path)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	uint32_t bad = 0, in_memory = 0;
	struct file f = {0};

	if (fd < 0) {
		ok(true, "%s: not here # SKIP", path);
		return;
	}
	unwind_saved_read(file, GATE_LIMIT_DEFAULT, NULL, &f.rows);
	f.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	f.cfi = dwarf_getcfi_elf(f.elf);
	for (uint32_t i = 0; i + 1 < f.rows.rows.len && bad < SHOWN;
	     i += 1 + f.rows.rows.len / 20000) {
		const struct unwind_row *row = &f.rows.rows.data[i];
		uint64_t addr = addr_of(&f, row->off);
		Dwarf_Frame *fr = NULL;

		if (row->kind != UNWIND_SAVED || !addr || dwarf_cfi_addrframe(f.cfi, addr, &fr))
			continue;
		for (uint32_t k = 0; k < RULE_NSAVED; k++) {
			uint32_t ours = RULE_SAVED(unwind_row_rule(row), k);
			uint32_t theirs = saved_bits_of(fr, k);

			in_memory += ours && ours != RULE_SAVED_LOST;
			if (ours == theirs)
				continue;
			bad++;
			printf("# %#lx: register %u: ours %u, libdw %u\n", (long)addr, k, ours,
			       theirs);
		}
		free(fr);
	}
	ok(in_memory > 100 && !bad, "%s: %u saved registers as libdw has them", path, in_memory);
	dwarf_cfi_end(f.cfi);
	elf_end(f.elf);
	unwind_rows_deinit(&f.rows);
}

/* Of functions that are asked about, rows are of UNWIND_CARRY also if the file needs none. */
static bool is_row_same(const struct unwind_row *all, const struct unwind_row *own)
{
	struct unwind_row plain;

	if (!all || !own)
		return all == own;
	plain = *own;
	if (own->kind == UNWIND_CARRY && all->kind != UNWIND_CARRY) {
		plain.kind = own->reg & UNWIND_CARRY_FP ? UNWIND_FP : UNWIND_SP;
		plain.reg = 0;
	}
	return all->kind == plain.kind && all->reg == plain.reg && all->fp == plain.fp &&
	       all->cfa == plain.cfa;
}

/*
 * Single functions have the same rows as the whole file, at the begin and the end of each row, and
 * more where there are so many pieces of code without FDEs that the whole reading leaves some out.
 */
static void compare_lazy(const char *path, struct gate_file *file, const struct unwind_rows *all,
			 bool is_saved)
{
	struct unwind_lazy *l = unwind_lazy_open(file, GATE_LIMIT_DEFAULT, is_saved);
	uint32_t bad = 0, first = 0, more = 0;

	for (uint32_t i = 0; l && i < 2 * all->rows.len; i++) {
		/* half of them from the end on: the order does not matter */
		uint32_t k = i % 2 ? all->rows.len - 1 - i / 2 : i / 2;
		uint32_t off = all->rows.data[k].off;

		for (uint32_t at = off ? off - 1 : 0; at <= off; at++) {
			const struct unwind_row *row = unwind_row_find(all, at),
						*own = unwind_lazy_find(l, at);

			if (is_row_same(row, own))
				continue;
			if (row && row->kind == UNWIND_NONE && own && !is_saved)
				more++;
			else if (!bad++)
				first = at;
		}
	}
	ok(l && !bad && (!more || all->rows.len > 10000),
	   "%s: functions that are asked about have the same%s rows (%u not, 0x%x)", path,
	   is_saved ? " saved" : "", bad, first);
	unwind_lazy_close(l);
}

static void test_file(const char *path, bool is_there)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	struct file f = {0};
	uint32_t bad, n = 0;

	if (fd < 0 && !is_there) {
		ok(true, "%s: not here # SKIP", path);
		return;
	}
	unwind_rows_read(file, GATE_LIMIT_DEFAULT, NULL, &f.rows);
	f.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	f.cfi = dwarf_getcfi_elf(f.elf);
	bad = compare(&f, &n);
	ok(n > 10 && bad == 0, "%s: %u rows, %u places in them as libdw has it (%u odd)", path,
	   f.rows.rows.len, n, f.rows.nodd);
	compare_lazy(path, file, &f.rows, false);
	dwarf_cfi_end(f.cfi);
	elf_end(f.elf);
	unwind_rows_deinit(&f.rows);
	unwind_saved_read(file, GATE_LIMIT_DEFAULT, NULL, &f.rows);
	compare_lazy(path, file, &f.rows, true);
	unwind_rows_deinit(&f.rows);
}

/* Rows of UNWIND_CARRY: those of a file with a function that is found by the carried register. */
static void test_carried(const char *path, bool has_some)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	uint32_t n = 0, nregs = 0, bad = 0;
	struct unwind_rows r;

	if (fd < 0) {
		ok(true, "%s: not here # SKIP", path);
		return;
	}
	unwind_rows_read(file, GATE_LIMIT_DEFAULT, NULL, &r);
	for (uint32_t i = 0; i < r.rows.len; i++) {
		const struct unwind_row *row = &r.rows.data[i];
		uint32_t rule = unwind_row_rule(row);

		nregs += row->kind == UNWIND_REG && row->reg == arch.unwind.carried;
		if (row->kind != UNWIND_CARRY)
			continue;
		n++;
		bad += RULE_KIND(rule) != UNWIND_CARRY || RULE_CARRIED(rule) != (row->reg & 31u) ||
		       !(rule & RULE_CARRY_FP) != !(row->reg & UNWIND_CARRY_FP) ||
		       RULE_CARRY_CFA(rule) != row->cfa ||
		       (row->fp > 0 && RULE_FP(rule) != (uint32_t)row->fp / 8);
	}
	ok((nregs != 0) == has_some && (n > 10) == has_some && !bad,
	   "%s: %u rows by the carried register, %u that carry it", path, nregs, n);
	unwind_rows_deinit(&r);
}

static bool is_ascending(const struct unwind_rows *r)
{
	for (uint32_t i = 1; i < r->rows.len; i++)
		if (r->rows.data[i].off <= r->rows.data[i - 1].off)
			return false;
	return true;
}

static void test_order(void)
{
	CLEANUP(fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	struct unwind_rows r;
	const struct unwind_row *last;

	unwind_rows_read(file, GATE_LIMIT_DEFAULT, NULL, &r);
	ok(r.rows.len && is_ascending(&r), "rows ascend");
	last = vec_last(&r.rows);
	ok(last->kind == UNWIND_NONE, "the last one says that nothing follows");
	ok(unwind_row_find(&r, last->off + 1000) == last, "which holds to the end");
	ok(unwind_row_find(&r, r.rows.data[1].off) == &r.rows.data[1],
	   "a row begins at its offset");
	ok(unwind_row_find(&r, r.rows.data[1].off - 1) == &r.rows.data[0],
	   "and ends before the next");
	ok(!unwind_row_find(&r, r.rows.data[0].off - 1), "there is none before the first");
	unwind_rows_deinit(&r);
}

static void test_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_rows r;

	if (!image) {
		ok(true, "no vDSO # SKIP");
		return;
	}
	unwind_rows_read_memory(image, 2 * (size_t)sysconf(_SC_PAGESIZE), &r);
	ok(r.rows.len > 4 && is_ascending(&r), "the vDSO has rows");
	unwind_rows_deinit(&r);
}

static void test_not_elf(void)
{
	static const char text[64] = "no ELF file";
	CLEANUP(fd) int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	struct unwind_rows r;

	unwind_rows_read(file, GATE_LIMIT_DEFAULT, NULL, &r);
	ok(r.rows.len == 0, "a file that is no ELF file has none");
	unwind_rows_read(NULL, GATE_LIMIT_DEFAULT, NULL, &r);
	ok(r.rows.len == 0, "neither has none at all");
	ok(!unwind_lazy_open(file, GATE_LIMIT_DEFAULT, false) &&
		   !unwind_lazy_open(NULL, GATE_LIMIT_DEFAULT, false),
	   "and no table");
	unwind_rows_read_memory(text, sizeof(text), &r);
	ok(r.rows.len == 0, "nor some bytes");
}

int main(void)
{
	(void)elf_version(EV_CURRENT);
	test_order();
	test_vdso();
	test_not_elf();
	test_file("/proc/self/exe", true);
	test_file("/lib/x86_64-linux-gnu/libc.so.6", false);
	test_file("/lib64/ld-linux-x86-64.so.2", false);
	test_file("/lib/x86_64-linux-gnu/libdw.so.1", false);
	test_file("/lib/x86_64-linux-gnu/libcrypto.so.3", false);
	ok(nindexed || access("/lib/x86_64-linux-gnu/libcrypto.so.3", F_OK) != 0,
	   "bn_mul_mont() has room on the stack by the number of words of its operands");
	test_file("/lib/x86_64-linux-gnu/libstdc++.so.6", false);
	test_file("/lib/x86_64-linux-gnu/libgmp.so.10", false);
	test_file("/bin/bash", false);
	test_file("/usr/bin/perl", false);
	test_file("/usr/bin/gdb", false);
	test_carried("/lib64/ld-linux-x86-64.so.2", true);
	test_carried("/lib/x86_64-linux-gnu/libc.so.6", false);
	test_saved("/proc/self/exe");
	test_saved("/lib/x86_64-linux-gnu/libc.so.6");
	test_saved("/lib/x86_64-linux-gnu/libcrypto.so.3");
	test_saved("/lib/x86_64-linux-gnu/libstdc++.so.6");
	test_saved("/usr/bin/gdb");
	return tap_done();
}
