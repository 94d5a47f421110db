/* SPDX-License-Identifier: MIT */
/* BPF code before linking: releases it, resolves its calls, prints it. */
#include "kernel/code.h"

#include "base/str.h"

void bpf_code_deinit(struct bpf_code *c)
{
	vec_deinit(&c->insns);
	vec_deinit(&c->relocs);
	vec_deinit(&c->funcs);
	vec_deinit(&c->spans);
}

static uint32_t func_index(const struct bpf_code *c, uint32_t id)
{
	for (uint32_t i = 0; i < c->funcs.len; i++)
		if (c->funcs.data[i].id == id)
			return i;
	BUG("function %u was never made", id);
}

void bpf_code_resolve(struct bpf_code *c)
{
	for (uint32_t i = 0; i < c->relocs.len; i++)
		if (c->relocs.data[i].kind == RELOC_FUNC)
			c->relocs.data[i].ref = func_index(c, c->relocs.data[i].ref);
}

/*
 * Listing, one instruction a line, "index: text", in the forms of the kernel's own verifier log:
 *
 *     r1 = *(u64 *)(r9 +64)	r0 += 5		if r1 s> r2 goto 12	call rt_strcmp
 *     r1 = map control+0 value	w1 = w2		*(u32 *)(r10 -16) = r3	call helper 5
 */

static const char *const map_names[MAP_NCLASSES] = {
	[MAP_CONTROL] = "control",   [MAP_MACH] = "mach",	[MAP_SCRATCH] = "scratch",
	[MAP_GVARS] = "gvars",	     [MAP_STRTAB] = "strtab",	[MAP_TLS] = "tls",
	[MAP_STRINGS] = "strings",   [MAP_AGG] = "agg",		[MAP_ARR] = "arr",
	[MAP_DISPATCH] = "dispatch", [MAP_RODATA] = "rodata",	[MAP_SPEC] = "spec",
	[MAP_RINGS] = "rings",	     [MAP_HPROCS] = "hprocs",	[MAP_HCODE] = "hcode",
	[MAP_HFILES] = "hfiles",     [MAP_HCONSTS] = "hconsts", [MAP_HMEMO] = "hmemo",
	[MAP_HPROGS] = "hprogs",     [MAP_KFUNCS] = "kfuncs",	[MAP_ALARM] = "alarm",
};

static const char *const alu_ops[16] = {
	[BPF_ADD >> 4] = "+=",	[BPF_SUB >> 4] = "-=",	[BPF_MUL >> 4] = "*=",
	[BPF_DIV >> 4] = "/=",	[BPF_OR >> 4] = "|=",	[BPF_AND >> 4] = "&=",
	[BPF_LSH >> 4] = "<<=", [BPF_RSH >> 4] = ">>=", [BPF_MOD >> 4] = "%=",
	[BPF_XOR >> 4] = "^=",	[BPF_MOV >> 4] = "=",	[BPF_ARSH >> 4] = "s>>=",
};

static const char *const jmp_ops[16] = {
	[BPF_JEQ >> 4] = "==",	 [BPF_JGT >> 4] = ">",	  [BPF_JGE >> 4] = ">=",
	[BPF_JSET >> 4] = "&",	 [BPF_JNE >> 4] = "!=",	  [BPF_JSGT >> 4] = "s>",
	[BPF_JSGE >> 4] = "s>=", [BPF_JLT >> 4] = "<",	  [BPF_JLE >> 4] = "<=",
	[BPF_JSLT >> 4] = "s<",	 [BPF_JSLE >> 4] = "s<=",
};

static int access_bits(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B: return 8;
	case BPF_H: return 16;
	case BPF_W: return 32;
	default: return 64;
	}
}

static const struct bpf_reloc *reloc_at(const struct bpf_code *c, uint32_t insn)
{
	for (uint32_t i = 0; i < c->relocs.len; i++)
		if (c->relocs.data[i].insn == insn)
			return &c->relocs.data[i];
	return NULL;
}

static void print_map(const struct bpf_reloc *r, struct strbuf *out)
{
	uint32_t class = r->ref >> 16, index = r->ref & 0xffff;

	strbuf_addf(out, "map %s", map_names[class]);
	if (class == MAP_AGG || class == MAP_ARR)
		strbuf_addf(out, "[%u]", index);
	if (r->kind == RELOC_MAP_VALUE)
		strbuf_addf(out, " value+%u", r->off);
}

static void print_alu(const struct bpf_insn *in, struct strbuf *out)
{
	char reg = BPF_CLASS(in->code) == BPF_ALU64 ? 'r' : 'w';
	int op = BPF_OP(in->code);

	if (op == BPF_NEG) {
		strbuf_addf(out, "%c%d = -%c%d", reg, in->dst_reg, reg, in->dst_reg);
	} else if (op == BPF_END) {
		strbuf_addf(out, "r%d = be%d r%d", in->dst_reg, in->imm, in->dst_reg);
	} else {
		strbuf_addf(out, "%c%d %s ", reg, in->dst_reg, alu_ops[op >> 4]);
		if (BPF_SRC(in->code) == BPF_X)
			strbuf_addf(out, "%c%d", reg, in->src_reg);
		else
			strbuf_addf(out, "%d", in->imm);
	}
}

static void print_call(const struct bpf_code *c, uint32_t i, struct strbuf *out)
{
	const struct bpf_insn *in = &c->insns.data[i];
	const struct bpf_reloc *r = reloc_at(c, i);

	if (in->src_reg == BPF_PSEUDO_KFUNC_CALL)
		strbuf_addf(out, "call kernel function %d", in->imm);
	else if (!r)
		strbuf_addf(out, "call helper %d", in->imm);
	else if (r->kind == RELOC_RT)
		strbuf_addf(out, "call %s", r->name);
	else
		strbuf_addf(out, "call function %u", r->ref);
}

static void print_jmp(const struct bpf_code *c, uint32_t i, struct strbuf *out)
{
	const struct bpf_insn *in = &c->insns.data[i];
	char reg = BPF_CLASS(in->code) == BPF_JMP ? 'r' : 'w';
	int op = BPF_OP(in->code), to = (int)i + 1 + in->off;

	if (op == BPF_CALL) {
		print_call(c, i, out);
	} else if (op == BPF_EXIT) {
		strbuf_adds(out, "exit");
	} else if (op == BPF_JA) {
		strbuf_addf(out, "goto %d", to);
	} else {
		strbuf_addf(out, "if %c%d %s ", reg, in->dst_reg, jmp_ops[op >> 4]);
		if (BPF_SRC(in->code) == BPF_X)
			strbuf_addf(out, "%c%d", reg, in->src_reg);
		else
			strbuf_addf(out, "%d", in->imm);
		strbuf_addf(out, " goto %d", to);
	}
}

static const char *atomic_name(int op)
{
	return op == BPF_CMPXCHG ? "cmpxchg" : op & BPF_FETCH ? "fetch_add" : "add";
}

static void print_insn(const struct bpf_code *c, uint32_t i, struct strbuf *out)
{
	const struct bpf_insn *in = &c->insns.data[i];
	const struct bpf_reloc *r = reloc_at(c, i);
	int bits = access_bits(in->code);

	switch (BPF_CLASS(in->code)) {
	case BPF_ALU:
	case BPF_ALU64: print_alu(in, out); break;
	case BPF_JMP:
	case BPF_JMP32: print_jmp(c, i, out); break;
	case BPF_LDX:
		strbuf_addf(out, "r%d = *(u%d *)(r%d %+d)", in->dst_reg, bits, in->src_reg,
			    in->off);
		break;
	case BPF_ST:
		strbuf_addf(out, "*(u%d *)(r%d %+d) = %d", bits, in->dst_reg, in->off, in->imm);
		break;
	case BPF_STX:
		if (BPF_MODE(in->code) == BPF_ATOMIC)
			strbuf_addf(out, "lock %s *(u%d *)(r%d %+d), r%d", atomic_name(in->imm),
				    bits, in->dst_reg, in->off, in->src_reg);
		else
			strbuf_addf(out, "*(u%d *)(r%d %+d) = r%d", bits, in->dst_reg, in->off,
				    in->src_reg);
		break;
	default: /* ld_imm64, the only one left */
		strbuf_addf(out, "r%d = ", in->dst_reg);
		if (r && r->kind == RELOC_FUNC)
			strbuf_addf(out, "function %u", r->ref);
		else if (r && r->kind == RELOC_RT)
			strbuf_addf(out, "function %s", r->name);
		else if (r)
			print_map(r, out);
		else
			strbuf_addf(out, "0x%llx",
				    (unsigned long long)(uint32_t)in->imm |
					    (unsigned long long)(uint32_t)in[1].imm << 32);
	}
}

static void print_func(const struct bpf_func *f, struct strbuf *out)
{
	strbuf_addf(out, "%s", f->name);
	if (f->clause != UINT32_MAX)
		strbuf_addf(out, " %u", f->clause);
	strbuf_adds(out, ":\n");
}

void bpf_code_print(const struct bpf_code *c, struct strbuf *out)
{
	uint32_t func = 0;

	for (uint32_t i = 0; i < c->insns.len; i++) {
		if (func < c->funcs.len && c->funcs.data[func].start == i)
			print_func(&c->funcs.data[func++], out);
		strbuf_addf(out, "%5u: ", i);
		print_insn(c, i, out);
		strbuf_addc(out, '\n');
		if (c->insns.data[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
}
