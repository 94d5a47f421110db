/* SPDX-License-Identifier: MIT */
/* Code generation: built-in variables. */
#include "native/builtin.h"

#include "native/operand.h"

#define REG(name) offsetof(struct native_frame, name)

/* SysV AMD64 ABI 3.2.3: the registers of the first arguments of a function. */
static const uint16_t arg_regs[NATIVE_NARGS] = {REG(rdi), REG(rsi), REG(rdx),
						REG(rcx), REG(r8),  REG(r9)};

/* By index of uregs[] (dlib/x86_64/regs.d). */
static const struct {
	bool is_known;
	uint16_t off;
	uint8_t arg; /* 1 + the number of the argument that it is at an entry */
} uregs[DIF_NUREGS] = {
	[0] = {true, REG(r15), 0},  [1] = {true, REG(r14), 0},	   [2] = {true, REG(r13), 0},
	[3] = {true, REG(r12), 0},  [4] = {true, REG(r11), 0},	   [5] = {true, REG(r10), 0},
	[6] = {true, REG(r9), 6},   [7] = {true, REG(r8), 5},	   [8] = {true, REG(rdi), 1},
	[9] = {true, REG(rsi), 2},  [10] = {true, REG(rbp), 0},	   [11] = {true, REG(rbx), 0},
	[12] = {true, REG(rdx), 3}, [13] = {true, REG(rcx), 4},	   [14] = {true, REG(rax), 0},
	[17] = {true, REG(pc), 0},  [19] = {true, REG(rflags), 0}, [UREG_SP] = {true, REG(rsp), 0},
};

bool ureg_is_known(uint64_t index)
{
	return index < ARRAY_LEN(uregs) && uregs[index].is_known;
}

uint32_t ureg_arg(uint32_t index)
{
	return uregs[index].arg;
}

static struct ra_loc row_loc(struct ngen *g, enum row_word word, bool is_signed)
{
	uint32_t off = (uint32_t)g->grp->row_off[word];

	return (struct ra_loc){.kind = RA_MACH, .n = is_signed ? LOC_SROW(off) : LOC_ROW(off)};
}

static struct ra_loc arg_home(struct ngen *g, uint32_t n)
{
	const struct ra_loc zero = {.kind = RA_CONST};

	switch (g->grp->spot) {
	case SPOT_ENTRY:
	case SPOT_CALL: return (struct ra_loc){.kind = RA_MACH, .n = LOC_FRAME(arg_regs[n])};
	case SPOT_RETURN:
	case SPOT_RETURNED:
		if (n == 1 && !g->grp->is_tail)
			return (struct ra_loc){.kind = RA_MACH, .n = LOC_FRAME(REG(rax))};
		return n == 0 ? row_loc(g, ROW_REL, true) : zero;
	case SPOT_RETURN_NONE: return n == 0 ? row_loc(g, ROW_REL, true) : zero;
	case SPOT_ENTRY_NONE:
	case SPOT_INSN: return zero;
	case SPOT_USDT: return operand_home(g->grp->operands, n);
	case SPOT_ENTRY32:
	case SPOT_ENTRY_STACK:
	case SPOT_ENTRY_GO:
	case SPOT_RETURN_GO:
	case SPOT_COUNT: break;
	}
	BUG("spot %d of a probe in the process", (int)g->grp->spot);
}

struct ra_loc builtin_home(struct ngen *g, uint32_t id)
{
	const struct unit_identity *as = g->uc->as;
	const struct ra_loc none = {0};

	if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9)
		return arg_home(g, id - DIF_VAR_ARG0);
	switch (id) {
	case DIF_VAR_PID:
		if (g->t->has_children)
			return none;
		return (struct ra_loc){.kind = RA_CONST, .value = g->t->pid};
	case DIF_VAR_IPL:
	case DIF_VAR_ERRNO: return (struct ra_loc){.kind = RA_CONST};
	case DIF_VAR_ID:
		if (as)
			return (struct ra_loc){.kind = RA_CONST, .value = as->probe};
		return row_loc(g, ROW_PROBE, false);
	case DIF_VAR_EPID:
		return (struct ra_loc){.kind = RA_MACH,
				       .n = LOC_ROW((uint32_t)g->grp->epid_off[g->clause])};
	case DIF_VAR_PROBEPROV:
	case DIF_VAR_PROBEMOD:
	case DIF_VAR_PROBEFUNC:
	case DIF_VAR_PROBENAME:
		if (as)
			return (struct ra_loc){.kind = RA_STR,
					       .n = as->names[id - DIF_VAR_PROBEPROV]};
		return row_loc(g, (enum row_word)(ROW_NAME0 + (id - DIF_VAR_PROBEPROV)), false);
	default: return none;
	}
}

struct ra_loc array_home(struct ngen *g, uint32_t id, uint64_t index)
{
	if (id == DIF_VAR_ARGS)
		return arg_home(g, (uint32_t)index);
	if (index == UREG_SP && g->grp->row_off[ROW_PUSHED] >= 0)
		return (struct ra_loc){0};
	return (struct ra_loc){.kind = RA_MACH, .n = LOC_FRAME(uregs[index].off)};
}

/* rax = the stack pointer at the function's first instruction, or at the site of a return */
static void sp_load(struct ngen *g)
{
	x86_load(&g->x, 8, false, RAX, x86_at(R15, REG(rsp)));
	if (g->grp->row_off[ROW_PUSHED] < 0)
		return;
	x86_load(&g->x, 4, true, RCX, x86_at(R13, g->grp->row_off[ROW_PUSHED]));
	x86_alu(&g->x, X86_ADD, RAX, RCX);
}

void ngen_array(struct ngen *g, uint32_t id, uint64_t index)
{
	if (id == DIF_VAR_ARGS) {
		operand_load(g, g->grp->operands, (uint32_t)index);
		return;
	}
	assert(index == UREG_SP);
	sp_load(g);
}

void ngen_builtin(struct ngen *g, uint32_t id)
{
	if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) {
		operand_load(g, g->grp->operands, id - DIF_VAR_ARG0);
		return;
	}
	switch (id) {
	case DIF_VAR_PID: ngen_pid_load(g, RAX); return;
	case DIF_VAR_TID: ngen_tid_load(g, RAX); return;
	case DIF_VAR_CPU: x86_load(&g->x, 4, false, RAX, on_stack(g->stack.cpu)); return;
	case DIF_VAR_TIMESTAMP: ngen_time(g); return;
	case DIF_VAR_UCALLER:
		if (g->grp->spot == SPOT_CALL) { /* the call itself */
			x86_load(&g->x, 8, false, RAX, x86_at(R15, REG(pc)));
			return;
		}
		sp_load(g);
		x86_load(&g->x, 8, false, RAX, x86_at(RAX, 0));
		return;
	default: BUG("built-in 0x%x has no code", id);
	}
}
