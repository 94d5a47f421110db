/* SPDX-License-Identifier: MIT */
/*
 * Fixture: the run-time library in the kernel, one function at a time.
 */
#include "rt_fixture.h"

#include <errno.h>

#include "kernel/map.h"
#include "rt/follow.h"

/* clang-format off */
#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){                                                                        \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (int16_t)(o), .imm = (i)})
/* clang-format on */
#define MOV_REG(d, s)  INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)  INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define LOAD(d, s, o)  INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, o, s) INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define MACH(member)   offsetof(struct rt_mach, member)

#define SLOTS_CPUS 2

static const struct map_spec watch_work =
	{BPF_MAP_TYPE_PERCPU_ARRAY, "watch_work", 4, RT_KNOWN_SIZE, 1, .flags = 0};

static void die(struct err *e, const char *what)
{
	printf("Bail out! %s: %s\n", what, e ? err_text(e) : strerror(errno));
	exit(1);
}

/* ---- the calling program ---------------------------------------------------------------- */

static void add(struct bpf_code *c, struct bpf_insn insn)
{
	vec_push(&c->insns, insn);
}

static void add_map(struct bpf_code *c, int reg, enum reloc_kind kind, enum map_class class)
{
	vec_push(&c->relocs,
		 (struct bpf_reloc){.insn = c->insns.len, .kind = kind, .ref = MAP_REF(class, 0)});
	add(c, INSN(BPF_LD | BPF_DW | BPF_IMM, reg, 0, 0, 0));
	add(c, INSN(0, 0, 0, 0, 0));
}

/* r0 = element 0, or the program ends. */
static void add_lookup(struct bpf_code *c, enum map_class class)
{
	add(c, MOV_REG(BPF_REG_2, BPF_REG_10));
	add(c, INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4));
	add_map(c, BPF_REG_1, RELOC_MAP, class);
	add(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem));
	add(c, INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 2, 0));
	add(c, MOV_IMM(BPF_REG_0, 0));
	add(c, INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
}

static void caller_build(struct bpf_code *c, const char *func, bool has_gvars)
{
	vec_push(&c->funcs, (struct bpf_func){.name = "caller", .clause = UINT32_MAX});
	add(c, INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0));
	add_lookup(c, MAP_MACH);
	add(c, MOV_REG(BPF_REG_6, BPF_REG_0));
	add(c, STORE(BPF_REG_6, MACH(self), BPF_REG_6));
	add_lookup(c, MAP_SCRATCH);
	add(c, STORE(BPF_REG_6, MACH(scratch), BPF_REG_0));
	if (has_gvars) {
		add_map(c, BPF_REG_1, RELOC_MAP_VALUE, MAP_GVARS);
		add(c, STORE(BPF_REG_6, MACH(gvars), BPF_REG_1));
	}
	for (int i = 0; i < 4; i++)
		add(c, LOAD(BPF_REG_2 + i, BPF_REG_6, (int)MACH(arg) + 8 * i));
	add(c, MOV_REG(BPF_REG_1, BPF_REG_6));
	vec_push(&c->relocs,
		 (struct bpf_reloc){.insn = c->insns.len, .kind = RELOC_RT, .name = func});
	add(c, INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0));
	add(c, STORE(BPF_REG_6, MACH(tmp[7]), BPF_REG_0));
	add(c, MOV_IMM(BPF_REG_0, 0));
	add(c, INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
}

static uint32_t prog_nverified(int fd)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr = {.info.bpf_fd = (uint32_t)fd,
			       .info.info_len = sizeof(info),
			       .info.info = (uint64_t)(uintptr_t)&info};

	if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		die(NULL, "program information");
	return info.verified_insns;
}

static int prog_load(const struct linked *l)
{
	static char log[4 << 20];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uint64_t)(uintptr_t)l->insns.data,
		.insn_cnt = l->insns.len,
		.license = (uint64_t)(uintptr_t) "Dual MIT/GPL",
		.prog_btf_fd = (uint32_t)l->btf_fd,
		.func_info = (uint64_t)(uintptr_t)l->funcs.data,
		.func_info_rec_size = sizeof(struct bpf_func_info),
		.func_info_cnt = l->funcs.len,
	};
	int fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd >= 0)
		return fd;
	attr.log_buf = (uint64_t)(uintptr_t)log;
	attr.log_size = sizeof(log);
	attr.log_level = 1;
	(void)sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	printf("# %s\n", strlen(log) > 4000 ? log + strlen(log) - 4000 : log);
	return -1;
}

int rt_fx_prog(struct rt_fx *fx, const char *func)
{
	struct bpf_code code = {0};
	struct linked l;
	struct err *e;
	int fd;

	for (uint32_t i = 0; i < fx->nprogs; i++)
		if (strcmp(fx->progs[i].name, func) == 0)
			return fx->progs[i].prog_fd;
	caller_build(&code, func, fx->layout.gvars_size > 0);
	e = kmaps_link_code(fx->maps, &code, NULL, &l);
	if (e)
		die(e, func);
	fd = prog_load(&l);
	if (fd < 0)
		die(NULL, func);
	fx->progs[fx->nprogs].nverified = prog_nverified(fd);
	fx->progs[fx->nprogs].name = func;
	fx->progs[fx->nprogs++].prog_fd = fd;
	linked_deinit(&l);
	bpf_code_deinit(&code);
	return fd;
}

/* ---- maps ------------------------------------------------------------------------------- */

static uint32_t value_size_of(int fd)
{
	struct bpf_map_info info = {0};
	union bpf_attr attr = {.info.bpf_fd = (uint32_t)fd,
			       .info.info_len = sizeof(info),
			       .info.info = (uint64_t)(uintptr_t)&info};

	if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		die(NULL, "map information");
	return info.value_size;
}

static void element(int cmd, int fd, void *value)
{
	uint32_t key = 0;
	union bpf_attr attr = {.map_fd = (uint32_t)fd,
			       .key = (uint64_t)(uintptr_t)&key,
			       .value = (uint64_t)(uintptr_t)value};

	if (fd >= 0 && sys_bpf(cmd, &attr, sizeof(attr)))
		die(NULL, "map element");
}

/* Ranges that count as the kernel's tracing code. */
static const uint64_t rt_fx_tracing[2 * RT_FX_NTRACING] = {100, 200, 300, 301, 400, 500};

struct rt_fx *rt_fx_create(const struct rt_fx_opts *o)
{
	struct rt_fx *fx = xcalloc(1, sizeof(*fx));
	struct rt_ukernel walk;
	struct kmaps_opts opts = {.mach = &fx->layout_mach,
				  .bufsize = 4096,
				  .tracing = rt_fx_tracing,
				  .ntracing = RT_FX_NTRACING,
				  .ukernel = &walk,
				  .unwindsize = 1 << 20};
	struct layout *l = &fx->layout;
	uint32_t stack_off = ROUND_UP((uint32_t)sizeof(struct rt_mach) + 2 * o->this_size, 8u);
	struct err *e;

	/* an aggregation with a string and a stack as keys, so that there are maps for them */
	fx->keys[0] = (struct key_field){.repr = KEY_STRHASH, .size = 8};
	fx->keys[1] = (struct key_field){.repr = KEY_STACK, .off = 8, .size = 8};
	fx->agg = (struct agg_layout){.keys = fx->keys,
				      .nkeys = 2,
				      .key_size = 16,
				      .val_size = 8,
				      .max_entries = 4};
	fx->agg_map = (struct elem_map){.key_size = 16, .val_size = 8, .max_entries = 4};
	*l = (struct layout){.strsize = o->strsize,
			     .gvars_size = o->gvars_size,
			     .this_size = o->this_size,
			     .opts.aggsize = 1 << 20,
			     .opts.has_helpers = true,
			     .strtab = strtab_create(),
			     .aggs = &fx->agg,
			     .naggs = 1,
			     .agg_maps = &fx->agg_map,
			     .nagg_maps = 1,
			     .facts.speculates = true,
			     .facts.has_token = true,
			     .nspec = 3,
			     .opts.specsize = 1 << 10,
			     .opts.ncpus = SLOTS_CPUS};
	fx->layout_mach = (struct mach){
		.scratch_size = o->scratch_size,
		.this_off = sizeof(struct rt_mach),
		.size = stack_off + 2 * RT_FX_STACK_STRIDE,
		.stack_off = stack_off,
		.stack_stride = RT_FX_STACK_STRIDE,
		.stack_nslots = 2,
		.stack_size = sizeof(struct rt_stack) + stack_bytes(RT_FX_FRAMES),
	};
	e = kfields_walk(&walk);
	if (!e)
		e = kmaps_create(l, &opts, &fx->maps);
	if (!e) /* the watch's, for the functions of rt/known.c */
		e = map_create(&watch_work, &fx->maps->fd[MAP_WATCH_WORK]);
	if (e)
		die(e, "maps");
	fx->mach_size = value_size_of(fx->maps->fd[MAP_MACH]);
	fx->scratch_size = value_size_of(fx->maps->fd[MAP_SCRATCH]);
	fx->mach_value = xcalloc(1, fx->mach_size);
	fx->mach = (struct rt_mach *)fx->mach_value;
	fx->scratch = xcalloc(1, fx->scratch_size);
	if (o->gvars_size)
		fx->gvars_size = value_size_of(fx->maps->fd[MAP_GVARS]);
	fx->gvars = xcalloc(1, MAX(fx->gvars_size, 1));
	rt_fx_call(fx, "rt_quantize", NULL, 0); /* for the addresses */
	return fx;
}

void rt_fx_destroy(struct rt_fx *fx)
{
	for (uint32_t i = 0; i < fx->nprogs; i++)
		close(fx->progs[i].prog_fd);
	kmaps_destroy(fx->maps);
	strtab_destroy(fx->layout.strtab);
	free(fx->mach_value);
	free(fx->scratch);
	free(fx->gvars);
	free(fx);
}

static void run(int prog_fd)
{
	uint64_t args[12] = {0};
	union bpf_attr attr = {.test.prog_fd = (uint32_t)prog_fd,
			       .test.ctx_in = (uint64_t)(uintptr_t)args,
			       .test.ctx_size_in = sizeof(args)};

	if (sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
		die(NULL, "BPF_PROG_TEST_RUN");
}

uint64_t rt_fx_again(struct rt_fx *fx, const char *func, const uint64_t *args, uint32_t nargs)
{
	int fd = rt_fx_prog(fx, func);

	memcpy(fx->mach->arg, args ? args : fx->mach->arg, nargs * sizeof(*args));
	element(BPF_MAP_UPDATE_ELEM, fx->maps->fd[MAP_MACH], fx->mach_value);
	element(BPF_MAP_UPDATE_ELEM, fx->maps->fd[MAP_GVARS], fx->gvars);
	run(fd);
	element(BPF_MAP_LOOKUP_ELEM, fx->maps->fd[MAP_MACH], fx->mach_value);
	element(BPF_MAP_LOOKUP_ELEM, fx->maps->fd[MAP_SCRATCH], fx->scratch);
	element(BPF_MAP_LOOKUP_ELEM, fx->maps->fd[MAP_GVARS], fx->gvars);
	return fx->mach->tmp[7];
}

uint64_t rt_fx_call(struct rt_fx *fx, const char *func, const uint64_t *args, uint32_t nargs)
{
	fx->mach->scratch_top = 0;
	fx->mach->tok_rest = 0;
	memset(&fx->mach->fault, 0, sizeof(fx->mach->fault));
	return rt_fx_again(fx, func, args, nargs);
}

static char *within(char *host, uint64_t base, uint32_t size, uint64_t addr)
{
	return addr - base < size ? host + (addr - base) : NULL;
}

char *rt_fx_at(struct rt_fx *fx, uint64_t addr)
{
	char *p = within(fx->scratch, fx->mach->scratch, fx->scratch_size, addr);

	if (!p)
		p = within(fx->gvars, fx->mach->gvars, fx->gvars_size, addr);
	return p ? p : within(fx->mach_value, fx->mach->self, fx->mach_size, addr);
}

uint64_t rt_fx_gvar(const struct rt_fx *fx, uint32_t off)
{
	return fx->mach->gvars + off;
}
