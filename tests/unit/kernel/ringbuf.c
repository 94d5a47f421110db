/* SPDX-License-Identifier: MIT */
/* Records of a ring buffer stay in it until they are given up, also over its end. */
#include "tap.h"

#include <bpf/bpf.h>

#include "kernel/insn.h"
#include "kernel/ringbuf.h"

#define SIZE 4096
#define FULL (SIZE / 16) /* records of 8 bytes, each with a header */

/* A program that writes the first word of its context, and discards it if the second is not 0. */
static int writer_load(int map)
{
	const struct bpf_insn insns[] = {
		INSN_MOV(BPF_REG_6, BPF_REG_1),
		INSN_IMM64_LOW(BPF_REG_1, BPF_PSEUDO_MAP_FD, map),
		INSN_IMM64_HIGH(0),
		INSN_MOV_IMM(BPF_REG_2, 8),
		INSN_MOV_IMM(BPF_REG_3, 0),
		INSN_CALL(BPF_FUNC_ringbuf_reserve),
		INSN_JMP_IMM(BPF_JNE, BPF_REG_0, 0, 2),
		INSNS_RETURN(1),
		INSN_LOAD(BPF_DW, BPF_REG_1, BPF_REG_6, 0),
		INSN_STORE(BPF_DW, BPF_REG_0, 0, BPF_REG_1),
		INSN_MOV(BPF_REG_1, BPF_REG_0),
		INSN_MOV_IMM(BPF_REG_2, 0),
		INSN_LOAD(BPF_DW, BPF_REG_3, BPF_REG_6, 8),
		INSN_JMP_IMM(BPF_JNE, BPF_REG_3, 0, 3),
		INSN_CALL(BPF_FUNC_ringbuf_submit),
		INSNS_RETURN(0),
		INSN_CALL(BPF_FUNC_ringbuf_discard),
		INSNS_RETURN(0),
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "t_writer", "GPL", insns,
			     ARRAY_LEN(insns), NULL);
}

/* False: the buffer is full. */
static bool put(int prog, uint64_t value, bool discards)
{
	uint64_t ctx[2] = {value, discards};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = sizeof(ctx));

	return bpf_prog_test_run_opts(prog, &opts) == 0 && opts.retval == 0;
}

/* The next record; 0: there is none. */
static uint64_t get(const struct ringbuf *r, uint64_t *pos)
{
	uint32_t len = 0;
	const void *at = ringbuf_next(r, pos, &len);
	uint64_t value = 0;

	if (at && len == sizeof(value))
		memcpy(&value, at, sizeof(value));
	return value;
}

static void test_order(int prog, const struct ringbuf *r, const struct ringbuf *other)
{
	uint64_t pos = ringbuf_begin(r), theirs = ringbuf_begin(other);

	is_int(get(r, &pos), 0, "none is there");
	(void)put(prog, 11, false);
	(void)put(prog, 12, true);
	(void)put(prog, 13, false);
	is_int(get(r, &pos), 11, "the first one");
	is_int(get(r, &pos), 13, "without the one that was discarded, the next one");
	is_int(get(r, &pos), 0, "and no more");
	is_int(get(other, &theirs), 11, "another one sees them");
	ringbuf_give_up(r, pos);
	theirs = ringbuf_begin(other);
	is_int(get(other, &theirs), 0, "until they are given up");
}

static void test_end(int prog, const struct ringbuf *r)
{
	uint64_t pos = ringbuf_begin(r), sum = 0, n = 0;

	for (uint64_t i = 1; put(prog, i, false); i++)
		n = i;
	ok(n >= FULL - 1 && n <= FULL, "%d records fit", (int)n);
	for (uint64_t i = 1; i <= n; i++)
		sum += get(r, &pos) == i;
	is_int(sum, n, "all are read, over the end of the buffer");
	ok(!put(prog, 1, false), "there is no room");
	ringbuf_give_up(r, pos);
	ok(put(prog, 77, false), "there is when they are given up");
	is_int(get(r, &pos), 77, "for this one");
}

int main(void)
{
	struct ringbuf r = {0}, other = {0}, none = {0};
	int map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "t_ring", 0, 0, SIZE, NULL), prog;

	if (map < 0) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	prog = writer_load(map);
	is_int(ringbuf_map(map, true, &r), 0, "mapped");
	is_int(ringbuf_map(map, false, &other), 0, "by another one, too");
	ok(ringbuf_map(-1, false, &none) != 0 && !none.read, "no descriptor");
	test_order(prog, &r, &other);
	test_end(prog, &r);
	ringbuf_unmap(&other);
	ringbuf_unmap(&r);
	ringbuf_unmap(&r);
	(void)close(prog);
	(void)close(map);
	return tap_done();
}
