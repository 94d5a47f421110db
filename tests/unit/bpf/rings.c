/* SPDX-License-Identifier: MIT */
/* The ring consumer against real BPF ring buffers, filled by a small program through test runs. */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "bpf/rings.h"
#include "tap.h"

#define CLAUSE	  7u
#define RING_SIZE (1u << 20)

/* A record of REC bytes or of BIG bytes: time = args[0], probe = args[1]; args[2] != 0 discards it.
 */
#define REC 40
#define BIG 5000

static int sys_bpf_(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int ring_create(uint32_t size)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_RINGBUF, .max_entries = size};

	return sys_bpf_(BPF_MAP_CREATE, &attr);
}

#define INSN(c, d, s, o, i)                                                                        \
	{                                                                                          \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)                \
	}

static int prog_create(int ring_fd, int32_t size)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, ring_fd),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, size),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_reserve),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1), /* full */
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 6, 0, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 0, 1, offsetof(struct rt_rec, time), 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 6, 8, 0),
		INSN(BPF_STX | BPF_MEM | BPF_W, 0, 1, offsetof(struct rt_rec, probe), 0),
		INSN(BPF_ST | BPF_MEM | BPF_W, 0, 0, offsetof(struct rt_rec, clause), CLAUSE),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 8, 6, 16, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, BPF_RB_NO_WAKEUP),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 2, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_submit),
		INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_discard),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uint64_t)(uintptr_t)insns,
		.insn_cnt = ARRAY_LEN(insns),
		.license = (uint64_t)(uintptr_t) "GPL",
	};

	return sys_bpf_(BPF_PROG_LOAD, &attr);
}

/* False when the ring was full. */
static bool put(int prog_fd, uint64_t time, uint64_t probe, bool discard)
{
	uint64_t args[3] = {time, probe, discard};
	union bpf_attr attr = {0};

	attr.test.prog_fd = (uint32_t)prog_fd;
	attr.test.ctx_in = (uint64_t)(uintptr_t)args;
	attr.test.ctx_size_in = sizeof(args);
	return sys_bpf_(BPF_PROG_TEST_RUN, &attr) == 0 && attr.test.retval == 0;
}

struct seen {
	uint64_t n, last_time, sum, bad, nexts, stop_after;
	uint32_t cpu_of_last;
};

static struct err *on_record(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			     const struct rt_rec *next)
{
	struct seen *s = ctx;

	s->n++;
	s->bad += rec->time < s->last_time || rec->clause != CLAUSE || (len != REC && len != BIG);
	s->bad += next && (next->clause != CLAUSE || next->time < rec->time);
	s->nexts += next != NULL;
	s->last_time = rec->time;
	s->sum += rec->probe;
	s->cpu_of_last = cpu;
	return s->n == s->stop_after ? err_new("stop") : NULL;
}

static struct seen drain(struct rings *r, uint64_t horizon)
{
	struct seen s = {0};
	struct err *e = rings_drain(r, horizon, on_record, &s);

	ok(!e, "drained");
	err_destroy(e);
	is_int(s.bad, 0, "in order, whole");
	return s;
}

static void test_merge(struct rings *r, const int *progs)
{
	struct seen s;

	for (uint64_t t = 1; t <= 10; t++)
		ok(put(progs[t & 1], t, t, false), "put %d", (int)t);
	s = drain(r, ENGINE_EVERYTHING);
	is_int(s.n, 10, "ten records of two CPUs");
	is_int(s.sum, 55, "each once");
	is_int(s.nexts, 8, "all but the last of each CPU have a next one");
	is_int(s.cpu_of_last, 0, "the last is CPU 0's");
	s = drain(r, ENGINE_EVERYTHING);
	is_int(s.n, 0, "nothing twice");
}

static void test_horizon(struct rings *r, const int *progs)
{
	struct seen s;

	for (uint64_t t = 100; t < 110; t++)
		(void)put(progs[t & 1], t, t, false);
	is_int(drain(r, 99).n, 0, "nothing before the horizon");
	s = drain(r, 104);
	is_int(s.n, 5, "up to and including the horizon");
	is_int(s.last_time, 104, "up to and including the horizon");
	is_int(drain(r, ENGINE_EVERYTHING).n, 5, "the rest later");
}

static void test_discard(struct rings *r, const int *progs)
{
	struct seen s;

	(void)put(progs[0], 200, 1, true);
	(void)put(progs[0], 201, 2, false);
	(void)put(progs[0], 202, 4, true);
	(void)put(progs[0], 203, 8, false);
	(void)put(progs[0], 204, 16, true);
	s = drain(r, ENGINE_EVERYTHING);
	is_int(s.n, 2, "discarded records are skipped");
	is_int(s.sum, 10, "the right ones");
	is_int(s.nexts, 1, "also when looking ahead");
}

/* Several windows, several times around the buffer. */
static void test_volume(struct rings *r, const int *progs, const int *bigs)
{
	uint64_t t = 1000, sum = 0, n = 0;

	for (int round = 0; round < 8; round++) {
		struct seen s;
		uint64_t want = 0, want_sum = 0;

		for (uint32_t i = 0; i < 6000; i++, t++) {
			int prog = i % 50 ? progs[i % 3 == 0] : bigs[i % 3 == 0];

			if (!put(prog, t, i, false))
				continue;
			want++;
			want_sum += i;
		}
		s = drain(r, ENGINE_EVERYTHING);
		n += s.n == want;
		sum += s.sum == want_sum;
	}
	is_int(n, 8, "eight rounds: all records came");
	is_int(sum, 8, "eight rounds: unharmed");
}

static void test_full(struct rings *r, const int *progs)
{
	uint32_t n = 0;

	while (put(progs[0], 100000 + n, 1, false))
		n++;
	ok(n == RING_SIZE / (REC + 8), "a full buffer holds %u records", n);
	is_int(drain(r, ENGINE_EVERYTHING).n, n, "all of them are read");
	ok(rings_fill(r) >= 255, "it was full");
	ok(put(progs[0], 200000, 1, false), "and there is room again");
	is_int(drain(r, ENGINE_EVERYTHING).n, 1, "which is used");
}

static void test_stop(struct rings *r, const int *progs)
{
	struct seen s = {.stop_after = 2};
	struct err *e;

	for (uint64_t t = 300000; t < 300005; t++)
		(void)put(progs[0], t, 1, false);
	e = rings_drain(r, ENGINE_EVERYTHING, on_record, &s);
	ok(e != NULL, "the callback's error ends the drain");
	err_destroy(e);
	is_int(drain(r, ENGINE_EVERYTHING).n, 3, "the rest is still there");
}

int main(void)
{
	int fds[3] = {ring_create(RING_SIZE), -1, ring_create(RING_SIZE)};
	int progs[2], bigs[2];
	struct rings *r;
	struct err *e;

	if (fds[0] < 0) {
		printf("1..0 # SKIP no BPF here (errno %d)\n", errno);
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		progs[i] = prog_create(fds[2 * i], REC);
		bigs[i] = prog_create(fds[2 * i], BIG);
	}
	ok(progs[0] >= 0 && bigs[1] >= 0, "programs load");
	e = rings_create(&(struct ring_fds){fds, 3, RING_SIZE, -1, 0}, &r);
	ok(!e, "rings open");
	test_merge(r, progs);
	test_horizon(r, progs);
	test_discard(r, progs);
	test_volume(r, progs, bigs);
	test_full(r, progs);
	test_stop(r, progs);
	rings_destroy(r);
	return tap_done();
}
