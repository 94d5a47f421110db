/* Subroutine calls: one row each. */
#include "bpf/gen.h"

#define MAX_ARGS 3

struct subr_gen {
	void (*emit)(struct gen *g, const struct dif_at *at, const struct subr_gen *s);
	const char *rt;		  /* run-time function */
	uint8_t min, max;	  /* arguments */
	uint64_t deflt[MAX_ARGS]; /* of those that may be left out, by position */
	bool clobbers, uses_scratch, can_fault;
	int arg;
};

static void emit_rt(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	struct ra_place args[MAX_ARGS];

	for (uint32_t k = 0; k < s->max; k++)
		args[k] = k < at->depth ? at->reads[k]
					: (struct ra_place){.kind = RA_CONST, .value = s->deflt[k]};
	ra_place_args(g, args, s->max);
	gen_rt(g, s->rt);
	if (s->can_fault)
		at_check_rt(g, at);
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
	S(STRLEN)     = {RT("strlen"),     1, 1, {0}, NUMBER},
	S(STRJOIN)    = {RT("strjoin"),    2, 2, {0}, STRING},
	S(SUBSTR)     = {RT("substr"),     2, 3, {0, 0, INT64_MAX}, STRING},
	S(INDEX)      = {RT("index"),      2, 3, {0}, NUMBER},
	S(RINDEX)     = {RT("rindex"),     2, 3, {0, 0, INT64_MAX}, NUMBER},
	S(STRSTR)     = {RT("strstr"),     2, 2, {0}, NUMBER},
	S(STRCHR)     = {RT("strchr"),     2, 2, {0}, NUMBER},
	S(STRRCHR)    = {RT("strrchr"),    2, 2, {0}, NUMBER},
	S(STRTOK)     = {RT("strtok"),     2, 2, {0}, STRING},
	S(BASENAME)   = {RT("basename"),   1, 1, {0}, STRING},
	S(DIRNAME)    = {RT("dirname"),    1, 1, {0}, STRING},
	S(CLEANPATH)  = {RT("cleanpath"),  1, 1, {0}, STRING},
	S(LLTOSTR)    = {RT("lltostr"),    1, 2, {0, 10}, STRING},
	S(STRTOLL)    = {RT("strtoll"),    1, 2, {0, 10}, NUMBER},
	S(TOUPPER)    = {RT("toupper"),    1, 1, {0}, STRING},
	S(TOLOWER)    = {RT("tolower"),    1, 1, {0}, STRING},
	S(INET_NTOA)  = {RT("inet_ntoa"),  1, 1, {0}, STRING},
	S(INET_NTOA6) = {RT("inet_ntoa6"), 1, 2, {0}, STRING},
	S(INET_NTOP)  = {RT("inet_ntop"),  2, 2, {0}, STRING},
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
