/* SPDX-License-Identifier: MIT */
/*
 * Links code with the run-time functions that it calls.
 */
#include "kernel/linker.h"

#include "kernel/btf_blob.h"
#include "kernel/insn.h"
#include "rt/abi.h"

#define NOT_PLACED  UINT32_MAX
#define RING_OUTPUT rt_image.nfuncs /* index of rt_ring_output, which the linker makes */

struct linker {
	const struct bpf_code *code;
	const struct link_maps *maps;
	struct linked *out;
	uint32_t *placed;     /* by rt_image function: index in out->rt_funcs */
	VEC(uint32_t) starts; /* first instructions of out->rt_funcs */
};

/* Whether the function is static, but generated code takes its address. */
static bool is_callback(const char *name)
{
	return strncmp(name, "rtcb_", 5) == 0;
}

static uint32_t rt_find(const char *name)
{
	for (uint32_t i = 0; i < rt_image.nfuncs; i++)
		if ((rt_image.funcs[i].is_global || is_callback(name)) &&
		    strcmp(rt_image.funcs[i].name, name) == 0)
			return i;
	if (strcmp(name, RT_RING_OUTPUT) == 0)
		return RING_OUTPUT;
	BUG("no run-time function '%s'", name);
}

/* The descriptor of a map; -1 when the session has no such map. */
static int map_fd(const struct linker *ld, uint32_t ref)
{
	uint32_t class = ref >> 16, index = ref & 0xffff;

	switch ((enum map_class) class) {
	case MAP_DISPATCH: return ld->maps->own.dispatch;
	case MAP_KFUNCS: return ld->maps->own.kfuncs;
	case MAP_HPROGS: return ld->maps->own.helpers;
	case MAP_AGG: return index < ld->maps->naggs ? ld->maps->agg_fds[index] : -1;
	case MAP_ARR: return index < ld->maps->narrs ? ld->maps->arr_fds[index] : -1;
	case MAP_CONTROL:
	case MAP_MACH:
	case MAP_SCRATCH:
	case MAP_GVARS:
	case MAP_STRTAB:
	case MAP_TLS:
	case MAP_STRINGS:
	case MAP_STACKS:
	case MAP_UFILES:
	case MAP_UBLOCKS:
	case MAP_UCACHE:
	case MAP_UREQ:
	case MAP_HPROCS:
	case MAP_HFILES:
	case MAP_HCONSTS:
	case MAP_HCODE:
	case MAP_HMEMO:
	case MAP_LIVE:
	case MAP_SPEC:
	case MAP_RINGS:
	case MAP_ALARM:
	case MAP_RODATA:
	case MAP_WATCH:
	case MAP_WATCHED:
	case MAP_WATCH_EVENTS:
	case MAP_WATCH_LINKERS:
	case MAP_WATCH_WORK:
	case MAP_WATCH_LOST: return ld->maps->fds[class];
	case MAP_NCLASSES: break;
	}
	BUG("map class %u", class);
}

/* The index of a run-time function in the program; adds the function if it is not there yet. */
static uint32_t rt_add(struct linker *ld, uint32_t func)
{
	if (ld->placed[func] == NOT_PLACED) {
		ld->placed[func] = ld->out->rt_funcs.len;
		vec_push(&ld->out->rt_funcs, func);
	}
	return ld->placed[func];
}

static void insn_set_func(struct bpf_insn *insn, uint32_t at, uint32_t target)
{
	if (insn->code == (BPF_JMP | BPF_CALL)) {
		insn->src_reg = BPF_PSEUDO_CALL;
		insn->imm = (int32_t)(target - at - 1);
		return;
	}
	insn[0].src_reg = BPF_PSEUDO_FUNC;
	insn[0].imm = (int32_t)(target - at - 1);
	insn[1].imm = 0;
}

/*
 * A map that the session does not need does not exist. Code that would use it never runs (its sizes
 * in struct rt_cfg are 0), but the kernel checks every descriptor first, so the address becomes 0.
 */
static void insn_set_map(struct bpf_insn *insn, int fd, bool is_value, uint32_t off)
{
	insn[0].src_reg = fd < 0 ? 0 : is_value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
	insn[0].imm = fd < 0 ? 0 : fd;
	insn[1].imm = fd < 0 || !is_value ? 0 : (int32_t)off;
}

/* ---- rt_ring_output --------------------------------------------------------------------- */

/*
 * long rt_ring_output(u64 cpu, const void *data, u64 size, u64 flags): calls bpf_ringbuf_output()
 * for the CPU's ring, or for the ring of CPUs that have none. It is a decision tree over the CPUs,
 * whose leaves name the rings.
 *
 * The obvious way, an array of maps indexed by CPU, costs each start of a session a grace period:
 * filling it makes the kernel wait until no program can see the old content
 * (maybe_wait_bpf_programs() in Linux kernel/bpf/syscall.c), 8 to 20 ms a call. It is slower in the
 * probe, too. It is used with very many CPUs, because a program may name 64 maps only.
 */
static void insn_add(struct linked *out, struct bpf_insn in)
{
	vec_push(&out->insns, in);
}

/* Loads the address of the map into the register. */
static void insn_add_map(struct linked *out, int reg, int fd)
{
	insn_add(out, INSN_IMM64_LOW(reg, 0, 0));
	insn_add(out, INSN_IMM64_HIGH(0));
	insn_set_map(vec_last(&out->insns) - 1, fd, false, 0);
}

/* Calls the helper that writes to the ring in r1, and returns its result. */
static void ring_write(struct linked *out)
{
	insn_add(out, INSN_CALL(BPF_FUNC_ringbuf_output));
	insn_add(out, INSN_EXIT);
}

/* For CPUs without a ring: r1 = cpu, r2 = data, r3 = size, r4 = flags. */
static void ring_spare(struct linked *out, int spare_fd)
{
	const int16_t clause = offsetof(struct rt_rec, clause);

	if (spare_fd < 0) {
		insn_add(out, INSN_MOV_IMM(R0, -1));
		insn_add(out, INSN_EXIT);
		return;
	}
	insn_add(out, INSN_ADD_IMM(R1, 1));
	insn_add(out, INSN_ALU_IMM(BPF_LSH, R1, RT_REC_CPU_SHIFT));
	insn_add(out, INSN_LOAD(BPF_W, R5, R2, clause));
	insn_add(out, INSN_ALU_IMM(BPF_LSH, R5, 64 - RT_REC_CPU_SHIFT));
	insn_add(out, INSN_ALU_IMM(BPF_RSH, R5, 64 - RT_REC_CPU_SHIFT));
	insn_add(out, INSN_ALU(BPF_OR, R5, R1));
	insn_add(out, INSN_STORE(BPF_W, R2, clause, R5));
	insn_add_map(out, R1, spare_fd);
	ring_write(out);
}

/*
 * cpus: those with a ring, ascending, at least one. A leaf of another CPU goes on to the next leaf;
 * behind the last one is ring_spare().
 */
static void ring_tree(struct linked *out, const int *ring_fds, const uint32_t *cpus, uint32_t ncpus)
{
	uint32_t at = out->insns.len, mid = ncpus / 2;

	if (ncpus > 1) {
		insn_add(out, INSN_JMP_IMM(BPF_JGE, R1, cpus[mid], 0));
		ring_tree(out, ring_fds, cpus, mid);
		out->insns.data[at].off = (int16_t)(out->insns.len - at - 1);
		ring_tree(out, ring_fds, cpus + mid, ncpus - mid);
		return;
	}
	insn_add(out, INSN_JMP_IMM(BPF_JNE, R1, cpus[0], 4));
	insn_add_map(out, R1, ring_fds[cpus[0]]);
	ring_write(out);
}

static void ring_lookup(struct linked *out, int rings_fd)
{
	insn_add(out, INSN_MOV(R6, R2));
	insn_add(out, INSN_MOV(R7, R3));
	insn_add(out, INSN_MOV(R8, R4));
	insn_add(out, INSN_STORE(BPF_W, R10, -4, R1));
	insn_add(out, INSN_MOV(R2, R10));
	insn_add(out, INSN_ADD_IMM(R2, -4));
	insn_add_map(out, R1, rings_fd);
	insn_add(out, INSN_CALL(BPF_FUNC_map_lookup_elem));
	insn_add(out, INSN_MOV(R2, R6));
	insn_add(out, INSN_MOV(R3, R7));
	insn_add(out, INSN_MOV(R4, R8));
	insn_add(out, INSN_JMP_IMM(BPF_JEQ, R0, 0, 3));
	insn_add(out, INSN_MOV(R1, R0));
	ring_write(out);
	insn_add(out, INSN_LOAD(BPF_W, R1, R10, -4));
}

static void ring_output_make(struct linker *ld)
{
	CLEANUP(free) uint32_t *cpus = xcalloc(ld->maps->ncpus, sizeof(*cpus));
	uint32_t n = 0;

	if (ld->maps->fds[MAP_RINGS] >= 0) {
		ring_lookup(ld->out, ld->maps->fds[MAP_RINGS]);
		ring_spare(ld->out, ld->maps->spare_fd);
		return;
	}
	for (uint32_t cpu = 0; cpu < ld->maps->ncpus; cpu++)
		if (ld->maps->ring_fds[cpu] >= 0)
			cpus[n++] = cpu;
	ring_tree(ld->out, ld->maps->ring_fds, cpus, n);
	ring_spare(ld->out, ld->maps->spare_fd);
}

/* ---- placing run-time functions --------------------------------------------------------- */

/* The image of a run-time function; without instructions for the one that the linker makes. */
static const struct rt_image_func *rt_func(uint32_t index)
{
	static const struct rt_image_func ring_output = {.name = RT_RING_OUTPUT};

	return index == RING_OUTPUT ? &ring_output : &rt_image.funcs[index];
}

/* Appends the instructions of all listed functions; their calls may add functions to the list. */
static void rt_append(struct linker *ld)
{
	struct linked *out = ld->out;

	for (uint32_t i = 0; i < out->rt_funcs.len; i++) {
		const struct rt_image_func *f = rt_func(out->rt_funcs.data[i]);
		uint32_t base = out->insns.len;

		vec_push(&ld->starts, base);
		if (out->rt_funcs.data[i] == RING_OUTPUT)
			ring_output_make(ld);
		vec_reserve(&out->insns, base + f->len);
		if (f->len)
			memcpy(out->insns.data + base, rt_image.insns + f->start,
			       f->len * sizeof(struct bpf_insn));
		out->insns.len += f->len;
		for (uint32_t j = 0; j < f->nrelocs; j++) {
			const struct rt_image_reloc *r = &rt_image.relocs[f->reloc + j];

			if (r->kind == RELOC_FUNC)
				(void)rt_add(ld, r->ref); /* rt_resolve_calls() sets the target */
			else
				insn_set_map(&out->insns.data[base + r->insn - f->start],
					     map_fd(ld, r->ref), r->kind == RELOC_MAP_VALUE,
					     r->off);
		}
	}
}

static void rt_resolve_calls(struct linker *ld)
{
	for (uint32_t i = 0; i < ld->out->rt_funcs.len; i++) {
		const struct rt_image_func *f = rt_func(ld->out->rt_funcs.data[i]);

		for (uint32_t j = 0; j < f->nrelocs; j++) {
			const struct rt_image_reloc *r = &rt_image.relocs[f->reloc + j];
			uint32_t at = ld->starts.data[i] + r->insn - f->start;

			if (r->kind == RELOC_FUNC)
				insn_set_func(&ld->out->insns.data[at], at,
					      ld->starts.data[ld->placed[r->ref]]);
		}
	}
}

static void code_list_rt(struct linker *ld)
{
	for (uint32_t i = 0; i < ld->code->relocs.len; i++)
		if (ld->code->relocs.data[i].kind == RELOC_RT)
			(void)rt_add(ld, rt_find(ld->code->relocs.data[i].name));
}

static void code_resolve(struct linker *ld)
{
	for (uint32_t i = 0; i < ld->code->relocs.len; i++) {
		const struct bpf_reloc *r = &ld->code->relocs.data[i];
		struct bpf_insn *insn = &ld->out->insns.data[r->insn];

		switch (r->kind) {
		case RELOC_MAP:
		case RELOC_MAP_VALUE:
			insn_set_map(insn, map_fd(ld, r->ref), r->kind == RELOC_MAP_VALUE, r->off);
			break;
		case RELOC_FUNC:
			insn_set_func(insn, r->insn, ld->code->funcs.data[r->ref].start);
			break;
		case RELOC_RT:
			insn_set_func(insn, r->insn, ld->starts.data[ld->placed[rt_find(r->name)]]);
			break;
		}
	}
}

/* ---- type information ------------------------------------------------------------------- */

#define MAX_RT_ARGS 4

/* Adds a function's type; names in BTF are C identifiers. */
static uint32_t func_add(struct btf_blob *b, const char *name, uint32_t proto, bool is_global)
{
	char text[32];
	size_t n = 0;

	for (; name[n] && n < sizeof(text) - 1; n++) {
		char c = name[n];
		bool is_letter = (c | 32) >= 'a' && (c | 32) <= 'z';

		text[n] = is_letter || (n && c >= '0' && c <= '9') ? c : '_';
	}
	text[n] = '\0';
	return btf_blob_func(b, n ? text : "f", proto, is_global);
}

/*
 * The type of the unit's global functions, u64 f(ctx *, mach *, u64). The kernel knows a context by
 * the name of its type. That of uprobes is a typedef in the kernel, but 6.1 requires a struct:
 * btf_get_prog_ctx_type() in Linux kernel/bpf/btf.c.
 */
static uint32_t global_proto(struct btf_blob *b, const struct bpf_code *code, uint32_t mach,
			     uint32_t u64_type)
{
	uint32_t args[3];

	if (!code->ctx_type)
		return 0;
	args[0] = btf_blob_ptr(b, btf_blob_struct(b, code->ctx_type, 8));
	args[1] = mach;
	args[2] = u64_type;
	return btf_blob_proto(b, u64_type, args, ARRAY_LEN(args));
}

static struct err *btf_make(struct linker *ld)
{
	struct linked *out = ld->out;
	struct btf_blob b = {0};
	uint32_t u64_type = btf_blob_int(&b, "u64", 8, false);
	uint32_t mach = btf_blob_struct(&b, "rt_mach", sizeof(struct rt_mach));
	uint32_t args[1 + MAX_RT_ARGS] = {btf_blob_ptr(&b, mach)};
	uint32_t static_proto = btf_blob_proto(&b, u64_type, NULL, 0);
	uint32_t protos[1 + MAX_RT_ARGS], number_protos[1 + MAX_RT_ARGS], clause_proto;
	struct err *e;

	for (uint32_t i = 0; i < MAX_RT_ARGS; i++)
		args[1 + i] = u64_type;
	for (uint32_t i = 0; i <= MAX_RT_ARGS; i++) {
		protos[i] = btf_blob_proto(&b, u64_type, args, 1 + i);
		number_protos[i] = btf_blob_proto(&b, u64_type, args + 1, i);
	}
	clause_proto = global_proto(&b, ld->code, args[0], u64_type);
	for (uint32_t i = 0; i < ld->code->funcs.len; i++) {
		const struct bpf_func *f = &ld->code->funcs.data[i];
		uint32_t proto = !f->is_global ? static_proto
				 : f->nnumbers ? number_protos[f->nnumbers]
					       : clause_proto;

		vec_push(&out->funcs,
			 (struct bpf_func_info){.insn_off = f->start,
						.type_id =
							func_add(&b, f->name ? f->name : "", proto,
								 i == 0 || f->is_global)});
	}
	for (uint32_t i = 0; i < out->rt_funcs.len; i++) {
		const struct rt_image_func *f = rt_func(out->rt_funcs.data[i]);
		bool has_mach = f->is_global && (i || out->nunit); /* a whole program has none */
		uint32_t proto = has_mach ? protos[f->nargs] : static_proto;

		vec_push(&out->funcs, (struct bpf_func_info){.insn_off = ld->starts.data[i],
							     .type_id = func_add(&b, f->name, proto,
										 f->is_global)});
	}
	e = btf_blob_load(&b, &out->btf_fd);
	btf_blob_deinit(&b);
	return e;
}

static void linker_init(struct linker *ld)
{
	*ld->out = (struct linked){.btf_fd = -1, .nunit = ld->code->funcs.len};
	ld->placed = xmalloc((rt_image.nfuncs + 1) * sizeof(*ld->placed));
	memset(ld->placed, 0xff, (rt_image.nfuncs + 1) * sizeof(*ld->placed));
}

static void linker_deinit(struct linker *ld)
{
	vec_deinit(&ld->starts);
	free(ld->placed);
}

struct err *link_code(const struct bpf_code *code, const struct link_maps *maps, struct linked *ret)
{
	struct linker ld = {.code = code, .maps = maps, .out = ret};
	struct err *e;

	linker_init(&ld);
	vec_reserve(&ret->insns, code->insns.len);
	memcpy(ret->insns.data, code->insns.data, code->insns.len * sizeof(struct bpf_insn));
	ret->insns.len = code->insns.len;

	code_list_rt(&ld);
	rt_append(&ld);
	rt_resolve_calls(&ld);
	code_resolve(&ld);
	e = btf_make(&ld);
	if (e)
		linked_deinit(ret);
	linker_deinit(&ld);
	return e;
}

/* The kernel requires types only for programs with several functions. */
struct err *link_program(const char *name, const int fds[MAP_NCLASSES], struct linked *ret)
{
	static const struct bpf_code none;
	const struct link_maps maps = {.fds = fds, .own = {-1, -1, -1}, .spare_fd = -1};
	struct linker ld = {.code = &none, .maps = &maps, .out = ret};
	struct err *e = NULL;

	linker_init(&ld);
	(void)rt_add(&ld, rt_find(name));
	rt_append(&ld);
	rt_resolve_calls(&ld);
	if (ret->rt_funcs.len > 1)
		e = btf_make(&ld);
	if (e)
		linked_deinit(ret);
	linker_deinit(&ld);
	return e;
}

void linked_deinit(struct linked *l)
{
	vec_deinit(&l->insns);
	vec_deinit(&l->funcs);
	vec_deinit(&l->rt_funcs);
	if (l->btf_fd >= 0)
		close(l->btf_fd);
	l->btf_fd = -1;
}

const char *linked_func_name(const struct linked *l, const struct bpf_code *code, uint32_t insn)
{
	uint32_t i = l->funcs.len;

	while (i > 0 && l->funcs.data[i - 1].insn_off > insn)
		i--;
	if (i == 0)
		return "";
	i--;
	return i < l->nunit ? code->funcs.data[i].name
			    : rt_func(l->rt_funcs.data[i - l->nunit])->name;
}
