/* SPDX-License-Identifier: MIT */
/* Which stacks clauses ask for. */
#include "d/types/types.h"
#include "stacks/stacks.h"
#include "tap.h"

static struct difo *constant(struct arena *a, uint64_t v)
{
	struct dif_builder *b = dif_builder_create(a);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, v), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, (struct dif_type){.ckind = TK_INT, .size = 8});
}

static struct difo *variable(struct arena *a, uint32_t id)
{
	struct dif_builder *b = dif_builder_create(a);

	dif_emit(b, dif_idx(DIF_OP_LDGS, id, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, (struct dif_type){.ckind = TK_INT, .size = 8});
}

/* What a clause on probes of a provider needs that traces d as this kind. */
static struct stack_needs needs_at(const char *prov, struct difo *d, enum datum_kind kind,
				   struct difo *pred)
{
	struct prog_act act = {.kind = ACT_TRACE, .args = &d, .arg_kinds = &kind, .nargs = 1};
	const struct probe_desc desc = {prov, "", "", "", 0, false, 0};
	struct prog_clause empty = {.desc = desc};
	struct prog_clause cl = {.desc = desc, .pred = pred, .acts = &act, .nacts = 1};
	struct prog_clause *list[] = {&empty, &cl};
	struct stack_needs needs;

	stack_needs_find(list, ARRAY_LEN(list), &needs);
	return needs;
}

static struct stack_needs needs_of(struct difo *d, enum datum_kind kind, struct difo *pred)
{
	return needs_at("syscall", d, kind, pred);
}

/* A predicate of one comparison of a variable: it is 0 where the branch is taken. */
static struct difo *compared(struct arena *a, uint32_t var, enum dif_op branch)
{
	struct dif_builder *b = dif_builder_create(a);
	uint32_t end = dif_label_create(b);

	dif_emit(b, dif_idx(DIF_OP_LDGS, var, 1));
	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, 4711), 2));
	dif_emit(b, dif_rrr(DIF_OP_CMP, 1, 2, 0));
	dif_emit_branch(b, branch, end);
	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, 1), 3));
	dif_emit(b, dif_rrr(DIF_OP_MOV, 3, 0, 2));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 2));
	dif_label_here(b, end);
	dif_emit(b, dif_rrr(DIF_OP_MOV, 0, 0, 2));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 2));
	return dif_builder_finish(b, (struct dif_type){.ckind = TK_INT, .size = 8});
}

static bool reaches(struct arena *a, const char *prov, struct difo *pred)
{
	struct difo *stack = constant(a, PROG_STACK(9, 100));

	return needs_at(prov, stack, DATUM_USTACK, pred).reaches_others;
}

/* Whose stacks may be recorded decides whether processes are prepared that nobody has named. */
static void test_reach(struct arena *a)
{
	struct difo *of_one = compared(a, DIF_VAR_PID, DIF_OP_BNE);
	struct difo *stack = constant(a, PROG_STACK(9, 100));
	struct stack_needs n = needs_at("syscall", stack, DATUM_USTACK, of_one);

	ok(reaches(a, "syscall", NULL), "a clause without a predicate reaches all processes");
	ok(!reaches(a, "syscall", of_one), "pid == 4711: that one only");
	ok(reaches(a, "syscall", compared(a, DIF_VAR_PID, DIF_OP_BE)), "pid != 4711: others");
	ok(reaches(a, "syscall", compared(a, DIF_VAR_TID, DIF_OP_BNE)), "tid == 4711: any");
	ok(n.npids == 1 && n.pids[0] == 4711, "it is known which one");
	ok(!reaches(a, "pid4711", NULL), "probes of a process: that one only");
	n = needs_at("plockstat4712", stack, DATUM_USTACK, NULL);
	ok(n.npids == 1 && n.pids[0] == 4712, "it is known which one");
	ok(!needs_of(constant(a, PROG_STACK(9, 0)), DATUM_USTACK, NULL).reaches_others,
	   "without names, nothing is prepared");
}

static void test_stacks(struct arena *a)
{
	struct stack_needs n = needs_of(constant(a, PROG_STACK(7, 0)), DATUM_USTACK, NULL);

	ok(n.has_walks && n.has_addresses && !n.has_names, "ustack(): walks, and addresses");
	ok(n.uframes == 7 && n.frames == 0, "its frames are those of a user stack");
	n = needs_of(constant(a, PROG_STACK(9, 100)), DATUM_USTACK, NULL);
	ok(n.has_names && n.uframes == 9, "jstack(): names, too");
	n = needs_of(constant(a, PROG_STACK(9 | PROG_STACK_ONLY_LANG, 100)), DATUM_USTACK, NULL);
	ok(n.has_walks && n.has_names && n.uframes == 9, "lstack(): the same");
	n = needs_of(constant(a, PROG_STACK(5, 0)), DATUM_STACK, NULL);
	ok(!n.has_walks && !n.has_addresses && n.frames == 5, "stack(): the kernel's only");
}

static void test_others(struct arena *a)
{
	struct stack_needs n = needs_of(constant(a, 1), DATUM_INT, NULL);

	ok(!n.has_walks && !n.has_addresses && !n.frames && !n.uframes, "a number needs nothing");
	n = needs_of(constant(a, 1), DATUM_UADDR, NULL);
	ok(n.has_addresses && !n.has_walks, "uaddr(): an address, but no walk");
	n = needs_of(variable(a, DIF_VAR_UCALLER), DATUM_INT, NULL);
	ok(n.has_walks && !n.has_addresses, "ucaller is walked for");
	n = needs_of(constant(a, 1), DATUM_INT, variable(a, DIF_VAR_USTACKDEPTH));
	ok(n.has_walks && !n.has_names, "in predicates, too");
	n = needs_of(constant(a, 1), DATUM_INT, variable(a, DIF_VAR_LLINE));
	ok(n.has_walks && n.has_names && !n.has_addresses, "lline needs names, but no address");
}

int main(void)
{
	struct arena *a = arena_create();

	test_stacks(a);
	test_reach(a);
	test_others(a);
	arena_destroy(a);
	return tap_done();
}
