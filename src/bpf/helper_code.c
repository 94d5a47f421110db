/* SPDX-License-Identifier: MIT */
/*
 * Compiles programs of the helper machine to BPF programs, one function of BPF each:
 *
 *     entry(ctx)          finds the walk that has called it, and runs step() until it returns 1
 *     step(i, env)        goes to the instruction of the machine's pc, and on from there
 */
#include "bpf/helper_code.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "bpf/helper_code_impl.h"
#include "kernel/linker.h"
#include "kernel/map.h"

#define LICENSE "Dual MIT/GPL"

/* The stack of entry(): a key of a map, and the environment of step(). */
#define FRAME_SLOT  (-4)
#define FRAME_STATE (-24)
#define FRAME_MACH  (-16)

enum { FUNC_ENTRY, FUNC_STEP };

/* ---- the functions --------------------------------------------------------------------------- */

/* Finds the instructions to which jumps lead; those behind jumps back are heads. */
static void targets_find(struct compiler *k)
{
	const struct helper_code *c = k->c;

	for (uint32_t i = 0; i <= c->nwords; i++)
		k->labels[i] = NO_LABEL;
	k->is_head[0] = k->is_head[c->frames] = k->is_head[c->frames + 1] = true;
	k->labels[c->frames + 2] = em_label(&k->e);
	for (uint32_t i = 0; i < c->nwords; i += hop_words(c->words[i])) {
		uint64_t in = c->words[i], target = i + 1 + (uint64_t)(int64_t)hop_imm(in);

		if (!(hop_uses(in) & HOP_JUMPS))
			continue;
		if (target >= c->nwords) {
			k->is_strange = true;
			return;
		}
		if (target <= i || hop_code(c->words[i]) == HOP_TRY)
			k->is_head[target] = true;
		else if (k->labels[target] == NO_LABEL)
			k->labels[target] = em_label(&k->e);
	}
	for (uint32_t i = 0; i < c->nwords; i++)
		if (k->is_head[i] && k->labels[i] == NO_LABEL)
			k->labels[i] = em_label(&k->e);
}

static void func_begin(struct compiler *k, const char *name, uint32_t id)
{
	vec_push(&k->e.code->funcs,
		 (struct bpf_func){.start = k->e.code->insns.len, .name = name, .id = id});
}

/* r0 = the value of the map for the key at FRAME_SLOT */
static void map_lookup(struct compiler *k, enum map_class class)
{
	em_addr(&k->e, R2, R10, (uint32_t)FRAME_SLOT);
	em_map(&k->e, R1, MAP_REF(class, 0));
	em_helper(&k->e, BPF_FUNC_map_lookup_elem);
}

/*
 * Finds the slot of the walk: the highest level of this CPU whose walk is about to enter and is the
 * task's. A firing of a higher level interrupts all of those below, and ends before they go on;
 * firings of other tasks may lie between, where programs can be preempted.
 */
static void put_entry(struct compiler *k)
{
	struct emitter *e = &k->e;
	uint32_t none = em_label(e), found = em_label(e);

	func_begin(k, "entry", FUNC_ENTRY);
	em_helper(e, BPF_FUNC_get_current_task);
	em_mov(e, R8, R0);
	em_helper(e, BPF_FUNC_get_smp_processor_id);
	em_mov(e, R7, R0);
	em_alu_imm(e, BPF_MUL, R7, RT_LEVELS);
	em_alu_imm(e, BPF_ADD, R7, RT_LEVELS - 1);
	em_map_value(e, R1, MAP_REF(MAP_RODATA, 0), offsetof(struct rt_cfg, helper_off));
	em_load(e, 4, R9, R1, 0);
	for (uint32_t level = 0; level < RT_LEVELS; level++) {
		em_store(e, 4, R10, FRAME_SLOT, R7);
		map_lookup(k, MAP_SCRATCH);
		em_jmp_imm(e, BPF_JEQ, R0, 0, none);
		em_mov(e, R6, R0);
		em_alu_reg(e, BPF_ADD, R6, R9);
		em_load(e, 8, R1, R6, STATE(entering));
		em_jmp_reg(e, BPF_JEQ, R1, R8, found);
		em_alu_imm(e, BPF_ADD, R7, -1);
	}
	em_here(e, none);
	em_imm(e, R0, 1); /* the machine is to run */
	em_exit(e);
	em_here(e, found);
	em_store_imm(e, 8, R6, STATE(entering), 0);
	em_store(e, 8, R10, FRAME_STATE, R6);
	map_lookup(k, MAP_MACH);
	em_jmp_imm(e, BPF_JEQ, R0, 0, none);
	em_store(e, 8, R10, FRAME_MACH, R0);
	em_imm(e, R1, RT_HELPER_MOST);
	em_func_addr(e, R2, FUNC_STEP);
	em_addr(e, R3, R10, (uint32_t)FRAME_STATE);
	em_imm(e, R4, 0);
	em_helper(e, BPF_FUNC_loop);
	em_imm(e, R0, 0);
	em_exit(e);
}

/* Goes to the head at which the walk is. Most iterations are steps to another frame. */
static void put_dispatch(struct compiler *k)
{
	const struct helper_code *c = k->c;
	struct emitter *e = &k->e;
	uint32_t step = c->frames + 1;

	em_load(e, 8, R6, R2, 0);
	em_load(e, 8, R9, R2, FRAME_MACH - FRAME_STATE);
	em_imm(e, R8, 0);
	em_load(e, 4, R1, R6, STATE(pc));
	em_jmp_imm(e, BPF_JEQ, R1, (int32_t)(c->base + step), k->labels[step]);
	for (uint32_t i = c->nwords; i-- > 0;)
		if (k->is_head[i] && i != step)
			em_jmp_imm(e, BPF_JEQ, R1, (int32_t)(c->base + i), k->labels[i]);
	em_imm(e, R0, 1);
	em_exit(e);
}

static void count_flush(struct compiler *k)
{
	em_load(&k->e, 8, R1, R6, STATE(fuel));
	em_alu_reg(&k->e, BPF_SUB, R1, R8);
	em_store(&k->e, 8, R6, STATE(fuel), R1);
}

static void put_ends(struct compiler *k)
{
	struct emitter *e = &k->e;
	uint32_t spent = em_label(e);

	em_here(e, k->stop);
	em_imm(e, R0, 1);
	em_exit(e);
	em_here(e, k->fault); /* r1 = the machine's pc */
	em_store(e, 4, R6, STATE(pc), R1);
	count_flush(k);
	call_rt(k, "rt_helper_fault");
	em_imm(e, R0, 0);
	em_exit(e);
	em_here(e, k->spent);
	count_flush(k);
	em_ja(e, spent);
	em_here(e, k->again);
	count_flush(k);
	em_jmp_imm(e, BPF_JSLT, R1, 0, spent);
	em_imm(e, R0, 0);
	em_exit(e);
	em_here(e, spent);
	call_rt(k, "rt_helper_spent");
	em_imm(e, R0, 0);
	em_exit(e);
}

static void put_program(struct compiler *k)
{
	const struct helper_code *c = k->c;
	bool is_reached = true;

	targets_find(k);
	if (k->is_strange)
		return;
	k->again = em_label(&k->e);
	k->stop = em_label(&k->e);
	k->fault = em_label(&k->e);
	k->spent = em_label(&k->e);
	put_entry(k);
	func_begin(k, "step", FUNC_STEP);
	put_dispatch(k);
	for (uint32_t i = 0; i < c->nwords && !k->is_strange; i += hop_words(c->words[i])) {
		k->word = i;
		if (k->labels[i] != NO_LABEL) {
			if (is_reached)
				count_due(k);
			k->cached = NO_REG;
			em_here(&k->e, k->labels[i]);
		} else if (!is_reached) {
			continue; /* the kernel refuses code that nothing reaches */
		}
		k->due++;
		insn_compile(k, c->words[i]);
		is_reached =
			!(hop_uses(c->words[i]) & HOP_ENDS) && hop_code(c->words[i]) != HOP_FRAMES;
	}
	put_ends(k);
	late_compile(k);
}

static struct err *code_make(const struct helper_code *c, struct bpf_code *ret)
{
	CLEANUP(free) uint32_t *labels = xcalloc(c->nwords + 3, sizeof(*labels));
	CLEANUP(free) bool *is_head = xcalloc(c->nwords + 3, sizeof(*is_head));
	struct compiler k = {.c = c, .labels = labels, .is_head = is_head, .cached = NO_REG};
	struct err *e = NULL;

	em_init(&k.e, ret);
	put_program(&k);
	if (!k.is_strange)
		em_resolve(&k.e);
	if (k.is_strange)
		e = err_new("a ustack helper has an instruction that cannot be compiled");
	else if (k.e.too_far)
		e = err_new("ustack helpers are too large to be compiled");
	em_deinit(&k.e);
	vec_deinit(&k.late);
	return e;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* A load, which its thread alone uses until is_done is set. */
struct helper_load {
	pthread_t thread;
	bool has_thread;
	bool is_done;
	struct linked linked;
	const struct kmaps *maps;
	uint32_t missing; /* bits: the arrays */
	uint32_t index;
	struct err *err; /* the first */
};

static struct err *array_add(const struct helper_load *l, const struct helper_array *a)
{
	union bpf_attr attr = {
		.prog_type = a->prog_type,
		.expected_attach_type = a->attach_type,
		.insns = (uint64_t)(uintptr_t)l->linked.insns.data,
		.insn_cnt = l->linked.insns.len,
		.license = (uint64_t)(uintptr_t)LICENSE,
		.prog_btf_fd = (uint32_t)l->linked.btf_fd,
		.func_info = (uint64_t)(uintptr_t)l->linked.funcs.data,
		.func_info_rec_size = sizeof(struct bpf_func_info),
		.func_info_cnt = l->linked.funcs.len,
		.prog_name = "helper",
	};
	CLEANUP(fd) int fd = sys_bpf_load(&attr, sizeof(attr));

	if (fd < 0)
		return err_sys(errno, "the kernel refused a compiled ustack helper");
	return map_set(a->fd, "compiled ustack helpers", &l->index, &fd);
}

static void *load_run(void *arg)
{
	struct helper_load *l = arg;

	for (uint32_t i = 0; i < HELPER_ARRAYS && !l->err; i++)
		if (l->missing >> i & 1)
			l->err = array_add(l, &l->maps->helper_arrays[i]);
	__atomic_store_n(&l->is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Loads in a thread that no signal interrupts: the kernel would give the verification up. */
static void load_begin(struct helper_load *l)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	l->has_thread = pthread_create(&l->thread, NULL, load_run, l) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!l->has_thread)
		(void)load_run(l);
}

static struct err *code_begin(struct helper_code *c, const struct kmaps *m, uint32_t missing)
{
	struct bpf_code code = {0};
	struct helper_load *l = xcalloc(1, sizeof(*l));
	struct err *e = code_make(c, &code);

	*l = (struct helper_load){.maps = m, .missing = missing, .index = c->index};
	if (!e)
		e = kmaps_link_code(m, &code, NULL, &l->linked);
	bpf_code_deinit(&code);
	if (e) {
		free(l);
		return e;
	}
	c->load = l;
	load_begin(l);
	return NULL;
}

void helper_code_end(struct helper_code *c)
{
	struct helper_load *l = c->load;

	if (!l)
		return;
	if (l->has_thread)
		(void)pthread_join(l->thread, NULL); /* cannot fail for a thread of ours */
	linked_deinit(&l->linked);
	err_destroy(l->err);
	free(l);
	c->load = NULL;
}

enum helper_code_state helper_code_work(struct helper_code *c, const struct kmaps *m,
					struct err **ret_err)
{
	uint32_t missing = ((1u << m->nhelper_arrays) - 1) & ~c->loaded;

	*ret_err = NULL;
	if (!c->load && !missing)
		return HELPER_CODE_IDLE;
	if (!c->load) {
		c->loaded |= missing;
		*ret_err = code_begin(c, m, missing);
		return *ret_err ? HELPER_CODE_LOADED : HELPER_CODE_LOADING;
	}
	if (!__atomic_load_n(&c->load->is_done, __ATOMIC_ACQUIRE))
		return HELPER_CODE_LOADING;
	*ret_err = c->load->err;
	c->load->err = NULL;
	helper_code_end(c);
	return HELPER_CODE_LOADED;
}
