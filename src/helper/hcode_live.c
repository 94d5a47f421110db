/* SPDX-License-Identifier: MIT */
/*
 * Which clause-local variables of a helper keep a value from one frame to the next.
 *
 * Most clause-local variables are set and used while one native frame is named. Such a variable is
 * written, on each path through the helper's clauses, before it is read, so nobody can tell whether
 * it keeps its value until the clauses run again: variables of other helpers may have the same
 * register. A variable that some path reads first needs a register of its own, because it has the
 * value that an earlier frame has left in it, or the 0 with which the walk begins.
 *
 * That is the classic analysis of live registers, backwards through the words of the machine until
 * nothing changes. A fault ends the clauses of the frame, so it is no path to another instruction.
 */
#include "helper/hcode_impl.h"

static void reg_add(struct reg_set *s, uint32_t reg)
{
	if (reg >= HREG_LOCALS && reg < HREG_LOCALS + RT_HELPER_LOCALS)
		s->bits[(reg - HREG_LOCALS) / 64] |= 1ull << (reg - HREG_LOCALS) % 64;
}

bool hcode_has_local(const struct reg_set *s, uint32_t reg)
{
	return s->bits[(reg - HREG_LOCALS) / 64] >> (reg - HREG_LOCALS) % 64 & 1;
}

/* Adds what an instruction reads; what it writes goes to *writes. */
static void insn_uses(uint64_t in, struct reg_set *reads, struct reg_set *writes)
{
	uint32_t uses = hop_uses(in);

	if (uses & HOP_READS_A)
		reg_add(reads, hop_a(in));
	if (uses & HOP_READS_B)
		reg_add(reads, hop_b(in));
	if (uses & HOP_READS_C)
		reg_add(reads, hop_c(in));
	if (uses & HOP_WRITES_A)
		reg_add(writes, hop_a(in));
	if (uses & HOP_WRITES_LOCAL)
		reg_add(writes, HREG_LOCALS + (uint32_t)hop_imm(in));
}

/* Merges what is live before instruction i; says whether that was news. */
static bool insn_merge(const struct hcode *h, uint32_t from, uint32_t i, struct reg_set *live)
{
	uint64_t in = h->words.data[i];
	uint32_t uses = hop_uses(in), next = i + hop_words(in);
	uint32_t target = i + 1 + (uint32_t)hop_imm(in);
	struct reg_set reads = {0}, writes = {0};
	bool is_new = false;

	insn_uses(in, &reads, &writes);
	for (size_t k = 0; k < ARRAY_LEN(reads.bits); k++) {
		uint64_t out = uses & HOP_ENDS ? 0 : live[next - from].bits[k];
		uint64_t before = live[i - from].bits[k];

		if (uses & HOP_JUMPS)
			out |= live[target - from].bits[k];
		live[i - from].bits[k] = reads.bits[k] | (out & ~writes.bits[k]);
		is_new |= live[i - from].bits[k] != before;
	}
	return is_new;
}

void hcode_live(const struct hcode *h, uint32_t from, uint32_t to, struct reg_set *ret)
{
	CLEANUP(free) struct reg_set *live = xcalloc(to - from + 2, sizeof(*live));
	CLEANUP(free) uint32_t *starts = xcalloc(to - from + 1, sizeof(*starts));
	bool is_new = true;
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i += hop_words(h->words.data[i]))
		starts[n++] = i;
	while (is_new) {
		is_new = false;
		for (uint32_t k = n; k-- > 0;)
			is_new |= insn_merge(h, from, starts[k], live);
	}
	for (size_t k = 0; k < ARRAY_LEN(ret->bits); k++)
		ret->bits[k] |= live[0].bits[k];
}

/* Marks what follows instruction i, behind which there may be a name; true: that was news. */
static bool name_follow(const struct hcode *h, uint32_t from, uint32_t i, bool *named)
{
	uint64_t in = h->words.data[i];
	uint32_t uses = hop_uses(in), next = i + hop_words(in);
	uint32_t target = i + 1 + (uint32_t)hop_imm(in);
	bool is_new = false;

	if (hop_code(in) == HOP_NONE || (!named[i - from] && hop_code(in) != HOP_RESULT))
		return false;
	if (!(uses & HOP_ENDS)) {
		is_new |= !named[next - from];
		named[next - from] = true;
	}
	if (uses & HOP_JUMPS) {
		is_new |= !named[target - from];
		named[target - from] = true;
	}
	return is_new;
}

bool hcode_names(const struct hcode *h, uint32_t from, uint32_t to)
{
	CLEANUP(free) bool *named = xcalloc(to - from + 2, sizeof(*named));
	bool is_new = true;

	while (is_new) {
		is_new = false;
		for (uint32_t i = from; i < to; i += hop_words(h->words.data[i]))
			is_new |= name_follow(h, from, i, named);
	}
	return named[to - from];
}
