/* SPDX-License-Identifier: MIT */
/* The assembler: what it makes is decoded by Zydis, and must be the instruction that was wanted. */
#include "tap.h"

#include "native/x86.h"

#include <Zydis/Zydis.h>

static const char *const regs8[] = {"al",  "cl",  "dl",	  "bl",	  "spl",  "bpl",  "sil",  "dil",
				    "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"};
static const char *const regs16[] = {"ax",  "cx",  "dx",   "bx",   "sp",   "bp",   "si",   "di",
				     "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"};
static const char *const regs32[] = {"eax", "ecx", "edx",  "ebx",  "esp",  "ebp",  "esi",  "edi",
				     "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"};
static const char *const regs64[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
				     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static const char *reg_text(uint32_t size, uint32_t r)
{
	return (size == 1 ? regs8 : size == 2 ? regs16 : size == 4 ? regs32 : regs64)[r];
}

#define ADDR 0x400000ull

static uint32_t nwrong, ncases;

/* Zydis leaves out the size of memory that a register's name says. */
static void size_strip(char *text)
{
	char *ptr = strstr(text, " ptr "), *from = ptr;

	if (!ptr)
		return;
	while (from > text && from[-1] != ' ')
		from--;
	memmove(from, ptr + 5, strlen(ptr + 5) + 1);
}

/* The general registers that an instruction writes, as x86.written has them. */
static uint32_t written_of(const ZydisDisassembledInstruction *insn)
{
	uint32_t regs = 0;

	for (uint32_t i = 0; i < insn->info.operand_count; i++) {
		const ZydisDecodedOperand *op = &insn->operands[i];
		ZydisRegister reg;

		if (op->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, op->reg.value);
		if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64)
			regs |= 1u << ZydisRegisterGetId(reg);
	}
	return regs;
}

/* Decodes the one instruction that x has, compares it with the text, and empties x. */
PRINTF_LIKE(2, 3) static void is_insn(struct x86 *x, const char *fmt, ...)
{
	ZydisDisassembledInstruction insn;
	char want[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	ncases++;
	if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, ADDR, x->code.data,
						x->code.len, &insn)))
		insn.text[0] = '\0';
	if (!strstr(insn.text, " ptr "))
		size_strip(want);
	if (insn.info.length != x->code.len || strcmp(insn.text, want) != 0) {
		if (nwrong++ < 20)
			printf("# got '%s' (%u of %u bytes), want '%s'\n", insn.text,
			       insn.info.length, x->code.len, want);
	}
	if (x->written != written_of(&insn) && nwrong++ < 20)
		printf("# '%s' writes registers 0x%x, and not 0x%x\n", insn.text, written_of(&insn),
		       x->written);
	x->written = 0;
	vec_clear(&x->code);
}

/* ---- registers and immediates ---------------------------------------------------------------- */

static const struct {
	enum x86_alu op;
	const char *name;
} alus[] = {{X86_ADD, "add"}, {X86_OR, "or"},	{X86_AND, "and"},
	    {X86_SUB, "sub"}, {X86_XOR, "xor"}, {X86_CMP, "cmp"}};

static void test_pair(struct x86 *x, enum x86_reg a, enum x86_reg b)
{
	for (uint32_t k = 0; k < ARRAY_LEN(alus); k++) {
		x86_alu(x, alus[k].op, a, b);
		is_insn(x, "%s %s, %s", alus[k].name, regs64[a], regs64[b]);
	}
	if (a != b) {
		x86_mov(x, a, b);
		is_insn(x, "mov %s, %s", regs64[a], regs64[b]);
	}
	x86_extend(x, 4, true, a, b);
	is_insn(x, "movsxd %s, %s", regs64[a], regs32[b]);
	x86_extend(x, 4, false, a, b);
	is_insn(x, "mov %s, %s", regs32[a], regs32[b]);
	for (uint32_t size = 1; size <= 2; size++) {
		x86_extend(x, size, true, a, b);
		is_insn(x, "movsx %s, %s", regs64[a], reg_text(size, b));
		x86_extend(x, size, false, a, b);
		is_insn(x, "movzx %s, %s", regs32[a], reg_text(size, b));
	}
	x86_test(x, a, b);
	is_insn(x, "test %s, %s", regs64[a], regs64[b]);
	x86_mul(x, a, b);
	is_insn(x, "imul %s, %s", regs64[a], regs64[b]);
	x86_mul_imm(x, a, b, 100);
	is_insn(x, "imul %s, %s, 0x64", regs64[a], regs64[b]);
	x86_mul_imm(x, a, b, 1000);
	is_insn(x, "imul %s, %s, 0x3E8", regs64[a], regs64[b]);
	x86_bsr(x, a, b);
	is_insn(x, "bsr %s, %s", regs64[a], regs64[b]);
}

static void test_single(struct x86 *x, enum x86_reg r)
{
	for (uint32_t k = 0; k < ARRAY_LEN(alus); k++) {
		x86_alu_imm(x, alus[k].op, r, -5);
		is_insn(x, "%s %s, 0xFFFFFFFFFFFFFFFB", alus[k].name, regs64[r]);
		x86_alu_imm(x, alus[k].op, r, 0x12345);
		is_insn(x, "%s %s, 0x12345", alus[k].name, regs64[r]);
	}
	x86_imm(x, r, 0);
	is_insn(x, "xor %s, %s", regs32[r], regs32[r]);
	x86_imm(x, r, 0xfedcba98);
	is_insn(x, "mov %s, 0xFEDCBA98", regs32[r]);
	x86_imm(x, r, (uint64_t)-2);
	is_insn(x, "mov %s, 0xFFFFFFFFFFFFFFFE", regs64[r]);
	x86_imm(x, r, 0x123456789abcdef0);
	is_insn(x, "mov %s, 0x123456789ABCDEF0", regs64[r]);
	x86_shift(x, X86_SHL, r, 63);
	is_insn(x, "shl %s, 0x3F", regs64[r]);
	x86_shift(x, X86_SHR, r, 64 + 7);
	is_insn(x, "shr %s, 0x07", regs64[r]);
	x86_shift(x, X86_ROR, r, 4);
	is_insn(x, "ror %s, 0x04", regs64[r]);
	x86_shift_cl(x, X86_SAR, r);
	is_insn(x, "sar %s, cl", regs64[r]);
	x86_cmpxchg(x, 8, x86_at(RCX, 8), r);
	is_insn(x, "cmpxchg qword ptr [rcx+0x08], %s", regs64[r]);
	if (r != RSP) {
		x86_push(x, r);
		x->written = 1u << RSP;
		is_insn(x, "push %s", regs64[r]);
		x86_pop(x, r);
		x->written |= 1u << RSP;
		is_insn(x, "pop %s", regs64[r]);
	}
	x86_mul_wide(x, r);
	is_insn(x, "mul %s", regs64[r]);
	x86_div(x, r, true);
	is_insn(x, "idiv %s", regs64[r]);
	x86_div(x, r, false);
	is_insn(x, "div %s", regs64[r]);
	x86_neg(x, r);
	is_insn(x, "neg %s", regs64[r]);
	x86_not(x, r);
	is_insn(x, "not %s", regs64[r]);
	x86_bswap(x, 8, r);
	is_insn(x, "bswap %s", regs64[r]);
	x86_bswap(x, 4, r);
	is_insn(x, "bswap %s", regs32[r]);
	x86_rdfsbase(x, r);
	is_insn(x, "rdfsbase %s", regs64[r]);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const char *disp_text(char *buf, size_t size, int32_t disp)
{
	buf[0] = '\0';
	if (disp)
		snprintf(buf, size, "%c0x%02X", disp < 0 ? '-' : '+',
			 disp < 0 ? -(uint32_t)disp : (uint32_t)disp);
	return buf;
}

static const char *const sizes[] = {[1] = "byte", [2] = "word", [4] = "dword", [8] = "qword"};

static void test_memory(struct x86 *x, struct x86_mem m, const char *text, enum x86_reg r)
{
	for (uint32_t size = 1; size <= 8; size *= 2) {
		x86_load(x, size, false, r, m);
		if (size < 4)
			is_insn(x, "movzx %s, %s ptr %s", regs32[r], sizes[size], text);
		else
			is_insn(x, "mov %s, %s ptr %s", reg_text(size, r), sizes[size], text);
		x86_load(x, size, true, r, m);
		is_insn(x, "%s %s, %s ptr %s",
			size == 8   ? "mov"
			: size == 4 ? "movsxd"
				    : "movsx",
			regs64[r], sizes[size], text);
		x86_store(x, size, m, r);
		is_insn(x, "mov %s ptr %s, %s", sizes[size], text, reg_text(size, r));
		x86_store_imm(x, size, m, 0x12);
		is_insn(x, "mov %s ptr %s, 0x12", sizes[size], text);
	}
	for (uint32_t k = 0; k < ARRAY_LEN(alus); k++) {
		x86_alu_load(x, alus[k].op, r, m);
		is_insn(x, "%s %s, qword ptr %s", alus[k].name, regs64[r], text);
		x86_alu_store(x, alus[k].op, m, r);
		is_insn(x, "%s qword ptr %s, %s", alus[k].name, text, regs64[r]);
		x86_alu_mem_imm(x, 1, alus[k].op, m, 0x33);
		is_insn(x, "%s byte ptr %s, 0x33", alus[k].name, text);
		x86_alu_mem_imm(x, 4, alus[k].op, m, 0x1234);
		is_insn(x, "%s dword ptr %s, 0x1234", alus[k].name, text);
		x86_alu_mem_imm(x, 8, alus[k].op, m, 3);
		is_insn(x, "%s qword ptr %s, 0x03", alus[k].name, text);
	}
	x86_lock_add(x, m, r);
	is_insn(x, "lock add qword ptr %s, %s", text, regs64[r]);
	x86_lock_add_imm(x, m, 1);
	is_insn(x, "lock add qword ptr %s, 0x01", text);
	x86_lock_xadd(x, m, r);
	is_insn(x, "lock xadd qword ptr %s, %s", text, regs64[r]);
	x86_lock_cmpxchg(x, 8, m, r);
	is_insn(x, "lock cmpxchg qword ptr %s, %s", text, regs64[r]);
	if (m.kind == X86_FS)
		return;
	x86_lea(x, r, m);
	is_insn(x, "lea %s, %s", regs64[r], text);
}

static void test_operands(struct x86 *x, enum x86_reg r)
{
	static const int32_t disps[] = {0, 8, -8, 127, -128, 128, 0x12345};
	char text[64], disp[16];

	for (uint32_t base = 0; base < X86_NREGS; base++)
		for (uint32_t k = 0; k < ARRAY_LEN(disps); k++) {
			snprintf(text, sizeof(text), "[%s%s]", regs64[base],
				 disp_text(disp, sizeof(disp), disps[k]));
			test_memory(x, x86_at(base, disps[k]), text, r);
			for (uint32_t index = 0; index < X86_NREGS; index++) {
				if (index == RSP || (index + base + k) % 5) /* a fifth of them */
					continue;
				snprintf(text, sizeof(text), "[%s+%s*8%s]", regs64[base],
					 regs64[index], disp);
				test_memory(x, x86_at_index(base, index, 8, disps[k]), text, r);
			}
		}
	test_memory(x, x86_at_fs(0x2d0), "fs:[0x00000000000002D0]", r);
}

/* Zydis prints the address that an operand relative to rip means. */
static void test_addresses(struct x86 *x)
{
	x->addr = ADDR;
	x86_load(x, 8, false, R9, x86_at_addr(0x500010));
	is_insn(x, "mov r9, qword ptr [0x0000000000500010]");
	x86_store_imm(x, 4, x86_at_addr(0x500010), 5);
	is_insn(x, "mov dword ptr [0x0000000000500010], 0x05");
	x86_alu_mem_imm(x, 1, X86_CMP, x86_at_addr(0x3ff000), 1);
	is_insn(x, "cmp byte ptr [0x00000000003FF000], 0x01");
	x86_lea(x, R14, x86_at_addr(0x7fffffff));
	is_insn(x, "lea r14, [0x000000007FFFFFFF]");
	x86_call(x, 0x123456);
	is_int(x->written, 0xfc7, "a call may write all registers that C functions need not keep");
	x->written = 1u << RSP;
	is_insn(x, "call 0x0000000000123456");
	ok(!x->is_too_far, "all of that is near");
	x86_call(x, ADDR + (3ull << 30));
	vec_clear(&x->code);
	ok(x->is_too_far, "what is too far is noticed");
}

static void test_labels(void)
{
	struct x86 x = {.addr = ADDR};
	uint32_t a = x86_label(&x), b = x86_label(&x);
	ZydisDisassembledInstruction insn;

	x86_here(&x, a);
	x86_jcc(&x, X86_NE, b);
	x86_jmp(&x, a);
	x86_lea(&x, RAX, x86_at_label(b, 4));
	x86_here(&x, b);
	x86_ret(&x);
	x86_finish(&x);
	ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, ADDR, x.code.data, x.code.len, &insn);
	is_str(insn.text, "jnz 0x0000000000400012", "a branch forward");
	ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, ADDR + 6, x.code.data + 6, x.code.len - 6,
			      &insn);
	is_str(insn.text, "jmp 0x0000000000400000", "a jump back");
	ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, ADDR + 11, x.code.data + 11,
			      x.code.len - 11, &insn);
	is_str(insn.text, "lea rax, [0x0000000000400016]", "the address of a label");
	is_int(x.code.data[x.code.len - 1], 0xc3, "ret");
	x86_align(&x, 16);
	is_int(x.code.len % 16, 0, "aligned");
	x86_deinit(&x);
}

int main(void)
{
	static const struct {
		enum x86_cond cond;
		const char *name;
	} conds[] = {{X86_B, "jb"},   {X86_AE, "jnb"}, {X86_E, "jz"},	{X86_NE, "jnz"},
		     {X86_BE, "jbe"}, {X86_A, "jnbe"}, {X86_S, "js"},	{X86_NS, "jns"},
		     {X86_L, "jl"},   {X86_GE, "jnl"}, {X86_LE, "jle"}, {X86_G, "jnle"}};
	struct x86 x = {0};

	for (uint32_t a = 0; a < X86_NREGS; a++) {
		test_single(&x, a);
		for (uint32_t b = 0; b < X86_NREGS; b++)
			test_pair(&x, a, b);
	}
	for (uint32_t r = 0; r < X86_NREGS; r += 3)
		test_operands(&x, r);
	for (uint32_t k = 0; k < ARRAY_LEN(conds); k++) {
		uint32_t here = x86_label(&x);

		x86_jcc(&x, conds[k].cond, here);
		x86_here(&x, here);
		x86_finish(&x);
		is_insn(&x, "%s 0x%016llX", conds[k].name, ADDR + 6);
	}
	x86_cqo(&x);
	is_insn(&x, "cqo");
	ok(nwrong == 0 && ncases > 20000, "%u instructions are what was wanted", ncases);
	test_addresses(&x);
	x86_deinit(&x);
	test_labels();
	return tap_done();
}
