/* Subroutine calls: one row each. */
#include "bpf/gen.h"
#include "bpf/kernel.h"

#define MAX_ARGS 3

struct subr_gen {
	void (*emit)(struct gen *g, const struct dif_at *at, const struct subr_gen *s);
	const char *rt;		  /* run-time function */
	uint8_t min, max;	  /* arguments */
	uint64_t deflt[MAX_ARGS]; /* of those that may be left out, by position */
	bool clobbers, uses_scratch, can_fault;
	uint8_t texts; /* how many arguments, from the first on, are read as strings */
	int arg;
};

static void emit_rt(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	struct ra_place args[MAX_ARGS];

	for (uint32_t k = 0; k < s->max; k++)
		args[k] = k < at->depth ? at->reads[k]
					: (struct ra_place){.kind = RA_CONST, .value = s->deflt[k]};
	for (uint32_t k = 0; k < s->texts; k++)
		at_check_readable(g, at, &args[k], 1);
	ra_place_args(g, args, s->max);
	gen_rt(g, s->rt);
	if (s->can_fault)
		at_check_rt(g, at);
}

static void emit_getf(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	gen_getf(g, at);
}

static void emit_d_path(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	gen_d_path(g, at);
}

static void emit_rand(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	em_helper(&g->e, BPF_FUNC_get_prandom_u32);
	em_mov32(&g->e, R0, R0);
	em_alu_imm(&g->e, BPF_RSH, R0, 1);
}

static void emit_byte_order(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	ra_place_load(g, R0, &at->reads[0]);
	em_to_be(&g->e, R0, s->arg);
}

/* Linux include/linux/kdev_t.h: MINORBITS is 20 */
static void emit_major(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	ra_place_load(g, R0, &at->reads[0]);
	em_mov32(&g->e, R0, R0);
	em_alu_imm(&g->e, BPF_RSH, R0, 20);
}

static void emit_minor(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	ra_place_load(g, R0, &at->reads[0]);
	em_alu_imm(&g->e, BPF_AND, R0, (1 << 20) - 1);
}

/* An entry of a list of names, by the number or what it is without its sign; a number beyond them as digits. */
static void emit_name(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	enum name_list_id id = names_of_subr(DIF_INSN_INDEX(at->insn));
	uint32_t positive = em_label(&g->e), has_name = em_label(&g->e), done = em_label(&g->e);
	const struct name_list *l = &name_lists[id];

	ra_place_args(g, at->reads, 1); /* to r2 */
	em_mov(&g->e, R0, R2);
	em_jmp_imm(&g->e, BPF_JSGE, R0, 0, positive);
	em_neg(&g->e, R0);
	em_here(&g->e, positive);
	em_jmp_imm(&g->e, BPF_JLT, R0, (int32_t)l->n, has_name);
	em_imm(&g->e, R3, 10);
	gen_rt(g, "rt_sub_lltostr");
	at_check_rt(g, at);
	em_ja(&g->e, done);
	em_here(&g->e, has_name);
	em_alu_imm(&g->e, BPF_MUL, R0, (int32_t)l->stride);
	gen_mach_load(g, 8, R1, offsetof(struct rt_mach, strtab));
	em_alu_reg(&g->e, BPF_ADD, R0, R1);
	em_alu_imm(&g->e, BPF_ADD, R0, (int32_t)g->l->names_off[id]);
	em_here(&g->e, done);
}

static void emit_flags(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	struct ra_place args[4] = {at->reads[0],
				   at->reads[1],
				   {.kind = RA_CONST, .value = g->l->flags_off},
				   {.kind = RA_CONST, .value = nflag_names}};

	ra_place_args(g, args, 4);
	gen_rt(g, "rt_strflags");
	at_check_rt(g, at);
}

static void emit_progenyof(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	uint32_t parent = 0, tgid = 0;
	struct err *e = kfield_offset("task_struct", "real_parent", &parent);

	if (!e)
		e = kfield_offset("task_struct", "tgid", &tgid);
	if (e) {
		gen_fail(g, "progenyof: %s", err_text(e));
		err_destroy(e);
		return;
	}
	ra_place_args(g, at->reads, 1);
	em_imm(&g->e, R3, parent);
	em_imm(&g->e, R4, tgid);
	gen_rt(g, "rt_progenyof");
}

/* r0 = the word of size bytes at off in the lock at the argument, or a fault */
static void lock_word(struct gen *g, const struct dif_at *at, uint32_t off, uint32_t size)
{
	ra_place_args(g, at->reads, 1);
	if (off)
		em_alu_imm(&g->e, BPF_ADD, R2, (int32_t)off);
	em_imm(&g->e, R3, size);
	gen_rt(g, "rt_lock_word");
	at_check_rt(g, at);
}

/* r0 = r0 is not 0 */
static void to_truth(struct gen *g)
{
	uint32_t done = em_label(&g->e);

	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, done);
	em_imm(&g->e, R0, 1);
	em_here(&g->e, done);
}

/* Linux include/linux/mutex_types.h: the owner with flags in its low three bits. arg: the truth is enough. */
static void emit_mutex(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	uint32_t off = 0;
	struct err *e = kfield_offset("mutex", "owner", &off);

	if (e) {
		gen_fail(g, "mutex_owner: %s", err_text(e));
		err_destroy(e);
		return;
	}
	lock_word(g, at, off, 8);
	em_alu_imm(&g->e, BPF_AND, R0, -8);
	if (s->arg)
		to_truth(g);
}

/* A mutex of Linux always sleeps. */
static void emit_mutex_type(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	lock_word(g, at, 0, 8);
	em_imm(&g->e, R0, (uint64_t)s->arg);
}

/*
 * Linux include/asm-generic/qrwlock_types.h: a rwlock_t begins with a word that holds the writer in its
 * lowest byte, a bit for a writer that waits, and above these the number of readers. arg: the bits.
 */
static void emit_rwlock(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	lock_word(g, at, 0, 4);
	em_alu_imm(&g->e, BPF_AND, R0, s->arg);
	to_truth(g);
}

#define RW_WRITER  0xff
#define RW_WAITING 0x100
#define RW_READERS (~0x1ff)

#define RT(name) emit_rt, "rt_sub_" name
#define STRING	 .clobbers = true, .uses_scratch = true, .can_fault = true
#define NUMBER	 .clobbers = true, .can_fault = true
#define S(id)	 [DIF_SUBR_##id]

/* Subroutines without a row fault with ILLOP. uses_scratch also where strtok's state is. */
static const struct subr_gen subrs[] = {
	/* clang-format off */
	/*               code          min max  defaults */
	S(COPYIN)     = {RT("copyin"),     2, 2, {0}, STRING},
	S(COPYINSTR)  = {RT("copyinstr"),  1, 2, {0, UINT64_MAX}, STRING},
	S(COPYINTO)   = {RT("copyinto"),   3, 3, {0}, STRING},
	S(ALLOCA)     = {RT("alloca"),     1, 1, {0}, STRING},
	S(BCOPY)      = {RT("bcopy"),      3, 3, {0}, STRING},
	S(STRLEN)     = {RT("strlen"),     1, 1, {0}, NUMBER, .texts = 1},
	S(STRJOIN)    = {RT("strjoin"),    2, 2, {0}, STRING, .texts = 2},
	S(SUBSTR)     = {RT("substr"),     2, 3, {0, 0, INT64_MAX}, STRING, .texts = 1},
	S(INDEX)      = {RT("index"),      2, 3, {0}, NUMBER, .texts = 2},
	S(RINDEX)     = {RT("rindex"),     2, 3, {0, 0, INT64_MAX}, NUMBER, .texts = 2},
	S(STRSTR)     = {RT("strstr"),     2, 2, {0}, NUMBER, .texts = 2},
	S(STRCHR)     = {RT("strchr"),     2, 2, {0}, NUMBER, .texts = 1},
	S(STRRCHR)    = {RT("strrchr"),    2, 2, {0}, NUMBER, .texts = 1},
	S(STRTOK)     = {RT("strtok"),     2, 2, {0}, STRING, .texts = 2},
	S(BASENAME)   = {RT("basename"),   1, 1, {0}, STRING, .texts = 1},
	S(DIRNAME)    = {RT("dirname"),    1, 1, {0}, STRING, .texts = 1},
	S(CLEANPATH)  = {RT("cleanpath"),  1, 1, {0}, STRING, .texts = 1},
	S(LLTOSTR)    = {RT("lltostr"),    1, 2, {0, 10}, STRING},
	S(STRTOLL)    = {RT("strtoll"),    1, 2, {0, 10}, NUMBER, .texts = 1},
	S(TOUPPER)    = {RT("toupper"),    1, 1, {0}, STRING, .texts = 1},
	S(TOLOWER)    = {RT("tolower"),    1, 1, {0}, STRING, .texts = 1},
	S(INET_NTOA)  = {RT("inet_ntoa"),  1, 1, {0}, STRING},
	S(INET_NTOA6) = {RT("inet_ntoa6"), 1, 2, {0, 1}, STRING},
	S(INET_NTOP)  = {RT("inet_ntop"),  2, 2, {0}, STRING},
	S(COPYOUT)    = {RT("copyout"),    3, 3, {0}, NUMBER},
	S(COPYOUTSTR) = {RT("copyoutstr"), 3, 3, {0}, NUMBER, .texts = 1},
	S(JSON)       = {RT("json"),       2, 2, {0}, STRING, .texts = 2},
	S(MEMSTR)     = {RT("memstr"),     3, 3, {0}, STRING},
	S(MEMREF)     = {RT("memref"),     2, 2, {0}, STRING},
	S(LINK_NTOP)  = {RT("link_ntop"),  2, 2, {0}, STRING},
	S(STRERRNO)   = {emit_name, NULL, 1, 1, {0}, STRING},
	S(STRERROR)   = {emit_name, NULL, 1, 1, {0}, STRING},
	S(STRSIGNAL)  = {emit_name, NULL, 1, 1, {0}, STRING},
	S(STRFLAGS)   = {emit_flags, NULL, 2, 2, {0}, STRING},
	S(D_PATH)     = {emit_d_path, NULL, 1, 1, {0}, STRING},
	S(GETF)       = {emit_getf, NULL, 1, 1, {0}, .clobbers = true},
	S(PROGENYOF)  = {emit_progenyof, NULL, 1, 1, {0}, .clobbers = true},
	S(MUTEX_OWNED)         = {emit_mutex, NULL, 1, 1, {0}, NUMBER, .arg = 1},
	S(MUTEX_OWNER)         = {emit_mutex, NULL, 1, 1, {0}, NUMBER},
	S(MUTEX_TYPE_ADAPTIVE) = {emit_mutex_type, NULL, 1, 1, {0}, NUMBER, .arg = 1},
	S(MUTEX_TYPE_SPIN)     = {emit_mutex_type, NULL, 1, 1, {0}, NUMBER},
	S(RW_READ_HELD)        = {emit_rwlock, NULL, 1, 1, {0}, NUMBER, .arg = RW_READERS},
	S(RW_WRITE_HELD)       = {emit_rwlock, NULL, 1, 1, {0}, NUMBER, .arg = RW_WRITER},
	S(RW_ISWRITER)         = {emit_rwlock, NULL, 1, 1, {0}, NUMBER, .arg = RW_WRITER | RW_WAITING},
	S(SPECULATION) = {RT("speculation"), 0, 0, {0}, .clobbers = true},
	S(RAND)       = {emit_rand, NULL, 0, 0, {0}, .clobbers = true},
	S(HTONS)      = {emit_byte_order, NULL, 1, 1, {0}, .arg = 16},
	S(HTONL)      = {emit_byte_order, NULL, 1, 1, {0}, .arg = 32},
	S(HTONLL)     = {emit_byte_order, NULL, 1, 1, {0}, .arg = 64},
	S(NTOHS)      = {emit_byte_order, NULL, 1, 1, {0}, .arg = 16},
	S(NTOHL)      = {emit_byte_order, NULL, 1, 1, {0}, .arg = 32},
	S(NTOHLL)     = {emit_byte_order, NULL, 1, 1, {0}, .arg = 64},
	S(GETMAJOR)   = {emit_major, NULL, 1, 1, {0}, .arg = 0},
	S(GETMINOR)   = {emit_minor, NULL, 1, 1, {0}, .arg = 0},
	/* clang-format on */
};

static const struct subr_gen *subr_find_gen(uint32_t subr)
{
	return subr < ARRAY_LEN(subrs) && subrs[subr].emit ? &subrs[subr] : NULL;
}

bool subr_clobbers(uint32_t subr)
{
	const struct subr_gen *s = subr_find_gen(subr);

	return s && s->clobbers;
}

bool subr_uses_scratch(uint32_t subr)
{
	const struct subr_gen *s = subr_find_gen(subr);

	return s && s->uses_scratch;
}

bool subr_can_fault(uint32_t subr)
{
	const struct subr_gen *s = subr_find_gen(subr);

	return !s || s->can_fault;
}

void gen_call(struct gen *g, const struct dif_at *at)
{
	const struct subr_gen *s = subr_find_gen(DIF_INSN_INDEX(at->insn));

	if (!s || at->depth < s->min || at->depth > s->max) {
		at_fault_always(g, at, DIF_FAULT_ILLOP, 0);
		return;
	}
	s->emit(g, at, s);
	ra_place_put(g, &at->writes[0], R0);
}
