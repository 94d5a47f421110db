/* SPDX-License-Identifier: MIT */
/* Fixture: code of a unit in this process. */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#define STACK_SIZE 16384u
#define PAINT	   0xa5

static void die(struct err *e, const char *what)
{
	printf("Bail out! %s: %s\n", what, e ? err_text(e) : strerror(errno));
	exit(1);
}

/* ---- the call -------------------------------------------------------------------------------- */

/*
 * u64 native_call(frame, site, func, n): calls func n times with the stack on which the frame lies,
 * and fills all registers with a pattern before, general ones with their number in native_frame;
 * returns whether a vector register was changed. native_kept has the general ones afterwards.
 */
uint64_t native_call(struct native_frame *frame, uint64_t site, void *func, uint64_t n);
uint64_t native_kept[15];
__asm__(".text\n"
	".globl native_call\n"
	".type native_call, @function\n"
	"native_call:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, %rax\n"
	"	mov %rdi, %rsp\n" /* below the frame: what is needed after the call */
	"	push %rax\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	sub $8, %rsp\n"
	"	movq %rdi, %xmm0\n"
	"	punpcklqdq %xmm0, %xmm0\n"
	"	movdqa %xmm0, %xmm7\n"
	"	movdqa %xmm0, %xmm15\n"
	"	mov $0, %r15d; mov $1, %r14d; mov $2, %r13d; mov $3, %r12d; mov $4, %ebp\n"
	"	mov $5, %ebx; mov $6, %r11d; mov $7, %r10d; mov $8, %r9d; mov $9, %r8d\n"
	"	mov $10, %eax; mov $11, %ecx; mov $12, %edx\n"
	"1:	mov 32(%rsp), %rdi\n"
	"	mov 24(%rsp), %rsi\n"
	"	call *16(%rsp)\n"
	"	decq 8(%rsp)\n"
	"	jnz 1b\n"
	"	push %rdi; push %rsi; push %rdx; push %rcx; push %rax\n"
	"	push %r8; push %r9; push %r10; push %r11; push %rbx; push %rbp\n"
	"	push %r12; push %r13; push %r14; push %r15\n"
	"	lea native_kept(%rip), %rdi\n"
	"	mov %rsp, %rsi\n"
	"	mov $15, %ecx\n"
	"	rep movsq\n"
	"	add $120, %rsp\n"
	"	xor %eax, %eax\n"
	"	movq 32(%rsp), %xmm1\n"
	"	punpcklqdq %xmm1, %xmm1\n"
	"	pcmpeqb %xmm1, %xmm0\n"
	"	pcmpeqb %xmm1, %xmm7\n"
	"	pcmpeqb %xmm1, %xmm15\n"
	"	pand %xmm7, %xmm0\n"
	"	pand %xmm15, %xmm0\n"
	"	pmovmskb %xmm0, %ecx\n"
	"	cmp $0xffff, %ecx\n"
	"	setne %al\n"
	"	mov 40(%rsp), %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	".size native_call, . - native_call\n");

/* What native_call() itself puts below the frame. */
#define CALL_SIZE 48u

static struct native_frame *frame_place(struct nrun *r, const struct native_frame *frame)
{
	struct native_frame *f = (void *)(r->stack + STACK_SIZE - 512);

	*f = *frame;
	if (!f->rsp)
		f->rsp = (uintptr_t)(r->stack + STACK_SIZE - 64);
	return f;
}

static void *func_of(struct nrun *r, uint32_t i)
{
	return r->map + r->code.entries[i].func + (r->target.code - (uintptr_t)r->map);
}

/* A stub saves no words but those that the function reads. */
static void frame_reduce(struct native_frame *f, uint32_t reads)
{
	uint64_t *words = (uint64_t *)(void *)f;

	for (uint32_t i = 0; i < sizeof(*f) / 8; i++)
		if (!(reads >> i & 1))
			words[i] = 0xbadbadbadbad0000 + i;
}

/* Whether the function has destroyed no other registers than it may, and the arguments. */
static bool regs_are_kept(uint32_t destroys)
{
	for (uint32_t i = 0; i < 13; i++)
		if (!(destroys >> i & 1) && native_kept[i] != i)
			return false;
	return true;
}

void nrun_fire(struct nrun *r, uint32_t i, const struct native_frame *frame)
{
	struct native_frame *f;
	uint32_t k = 0;

	memset(r->stack, PAINT, STACK_SIZE);
	f = frame_place(r, frame);
	frame_reduce(f, r->code.entries[i].reads);
	r->has_saved_all &= !native_call(f, r->code.entries[i].site, func_of(r, i), 1) &&
			    regs_are_kept(r->code.entries[i].destroys);
	while (r->stack[k] == PAINT)
		k++;
	r->stack_used = MAX(r->stack_used, (uint32_t)((uint8_t *)f - r->stack) - k - CALL_SIZE);
}

void nrun_without_block(struct nrun *r, uint32_t i)
{
	struct native_frame *f = frame_place(r, &(struct native_frame){0});
	void *func = func_of(r, i);
	sigset_t all, old;
	uint64_t block;

	/* a handler would run without a thread block, too */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	__asm__ volatile("rdfsbase %0" : "=r"(block));
	__asm__ volatile("wrfsbase %0" : : "r"(0ull) : "memory");
	(void)native_call(f, r->code.entries[i].site, func, 1);
	__asm__ volatile("wrfsbase %0" : : "r"(block) : "memory");
	sigprocmask(SIG_SETMASK, &old, NULL);
}

uint64_t nrun_time(struct nrun *r, uint32_t i, const struct native_frame *frame, uint64_t n)
{
	struct native_frame *f = frame_place(r, frame);
	uint64_t start = now_ns();

	(void)native_call(f, r->code.entries[i].site, func_of(r, i), n);
	return now_ns() - start;
}

/* ---- the thread block ------------------------------------------------------------------------ */

bool nrun_rseq_find(int32_t *ret_off)
{
	*ret_off = (int32_t)__rseq_offset + (int32_t)offsetof(struct rseq, cpu_id);
	return __rseq_size != 0;
}

bool nrun_tid_find(int32_t *ret_off)
{
	int32_t tid = (int32_t)syscall(SYS_gettid);
	const char *block;

	__asm__("mov %%fs:0, %0" : "=r"(block));
	for (*ret_off = 0; *ret_off < 2048; *ret_off += 4)
		if (memcmp(block + *ret_off, &tid, sizeof(tid)) == 0)
			return true;
	return false;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void memory_map(struct nrun *r)
{
	r->map_size = NRUN_CODE_SIZE + r->plan->size;
	r->fd = memfd_create("native", MFD_CLOEXEC);
	if (r->fd < 0 || ftruncate(r->fd, (off_t)r->map_size))
		die(NULL, "memfd");
	r->map = mmap(NULL, r->map_size, PROT_READ | PROT_EXEC, MAP_SHARED, r->fd, 0);
	if (r->map == MAP_FAILED)
		die(NULL, "mmap");
	r->data_map = r->map + NRUN_CODE_SIZE;
	if (mprotect(r->data_map, r->plan->size, PROT_READ | PROT_WRITE))
		die(NULL, "mprotect");
	r->stack =
		mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->stack == MAP_FAILED)
		die(NULL, "mmap");
}

static void code_write(struct nrun *r, const void *bytes, size_t size, uint64_t off)
{
	if (off + size > NRUN_CODE_SIZE || pwrite(r->fd, bytes, size, (off_t)off) != (ssize_t)size)
		die(NULL, "pwrite");
}

static void conf_write(struct nrun *r)
{
	size_t size;
	struct blob_conf *conf = ndata_conf(r->data, &size);

	code_write(r, conf, size, blob_code_size);
	free(conf);
}

static void target_fill(struct nrun *r, const struct nrun_opts *opts)
{
	struct native_target *t = &r->target;

	t->blob = (uintptr_t)r->map;
	t->code = t->blob + ROUND_UP(blob_code_size + sizeof(struct blob_conf) +
					     r->plan->ntables * sizeof(struct blob_table),
				     64u);
	t->data = (uintptr_t)r->data_map;
	t->plan = r->plan;
	t->layout = r->layout;
	t->pid = (uint32_t)getpid();
	t->ncpus = r->plan->ncpus;
	t->has_rseq = nrun_rseq_find(&t->rseq_cpu_off) && !opts->has_no_rseq;
	t->has_tid = nrun_tid_find(&t->tid_off) && !opts->has_no_tid;
	t->has_frames = opts->frames.size != 0;
	t->only_cpu = opts->only_cpu - 1;
	t->checks_fs = opts->checks_fs;
	t->stops_when_full = opts->stops_when_full;
	t->shuffle = opts->shuffle;
}

struct nrun *nrun_create(const struct layout *l, const struct unit *u,
			 const struct native_site *sites, uint32_t nsites,
			 const struct nrun_opts *opts, struct err **ret_err)
{
	struct nrun *r = xcalloc(1, sizeof(*r));
	const struct ndata_opts dopts = {.layout = l,
					 .ncpus = l->opts.ncpus,
					 .bufsize = opts->bufsize ? opts->bufsize : 1 << 16,
					 .max_size = 16 << 20,
					 .has_samples = opts->has_samples,
					 .has_live = l->live_size != 0};
	struct ndata_hooks hooks = {.pid = (uint32_t)getpid()};
	struct err *e;

	r->layout = l;
	r->unit = u;
	r->fd = -1;
	r->has_saved_all = true;
	e = blob_plan_create(&dopts, &r->plan);
	if (e)
		die(e, "plan");
	r->plan->frames = opts->frames;
	if (opts->of_run) {
		hooks.site = opts->of_run->site;
		hooks.ctx = opts->of_run->ctx;
	}
	memory_map(r);
	target_fill(r, opts);
	*ret_err = native_compile(u, &r->target, sites, nsites, &r->code);
	if (*ret_err) {
		nrun_destroy(r);
		return NULL;
	}
	code_write(r, blob_code, blob_code_size, 0);
	code_write(r, r->code.bytes, r->code.size, r->target.code - r->target.blob);
	e = ndata_create(r->plan, l, r->data_map, r->fd, NRUN_CODE_SIZE, &hooks, &r->data);
	if (!e)
		conf_write(r);
	if (!e)
		e = ndata_set_state(r->data, RT_STATE_ON);
	if (!e)
		e = ndata_clock_correct(r->data);
	if (e)
		die(e, "data");
	return r;
}

void nrun_destroy(struct nrun *r)
{
	ndata_destroy(r->data);
	native_code_deinit(&r->code);
	(void)munmap(r->map, r->map_size);
	(void)munmap(r->stack, STACK_SIZE);
	close(r->fd);
	blob_plan_destroy(r->plan);
	for (uint32_t i = 0; i < r->records.len; i++)
		free(r->records.data[i]);
	vec_deinit(&r->records);
	free(r);
}

/* ---- results --------------------------------------------------------------------------------- */

static struct err *record_take(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			       const struct rt_rec *next)
{
	struct nrun *r = ctx;
	char *copy = xmalloc(len + 8);
	uint64_t len64 = len;

	(void)cpu, (void)next;
	memcpy(copy, &len64, 8);
	memcpy(copy + 8, rec, len);
	vec_push(&r->records, copy);
	return NULL;
}

const struct rt_rec *nrun_record(struct nrun *r, uint32_t *ret_len)
{
	struct err *e;
	uint64_t len;

	if (r->next == r->records.len) {
		e = ndata_drain(r->data, ENGINE_EVERYTHING, record_take, r);
		if (e)
			die(e, "drain");
	}
	if (r->next == r->records.len)
		return NULL;
	memcpy(&len, r->records.data[r->next], 8);
	if (ret_len)
		*ret_len = (uint32_t)len;
	return (const struct rt_rec *)(const void *)(r->records.data[r->next++] + 8);
}

bool nrun_agg(struct nrun *r, uint32_t agg_id, const void *key, uint32_t word, int64_t *ret)
{
	const struct agg_layout *al = &r->layout->aggs[agg_id - 1];
	const struct elem_map *m = &r->layout->agg_maps[al->map];
	const uint8_t *values;
	uint32_t ncpus = 0;
	struct err *e;

	e = ndata_aggs.peek(r->data, al->map, key ? key : &al->elem, &values, &ncpus);
	if (e)
		die(e, "peek");
	*ret = 0;
	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		int64_t v;

		memcpy(&v, values + (size_t)cpu * elem_map_stride(m) + 8 * word, 8);
		*ret = (int64_t)((uint64_t)*ret + (uint64_t)v);
	}
	return ncpus != 0;
}

struct rt_cpu nrun_drops(struct nrun *r)
{
	struct rt_control *c = xcalloc(1, sizeof(*c) + r->plan->ncpus * sizeof(c->cpu[0]));
	struct rt_cpu sum = {0};
	struct err *e;

	c->ncpus = r->plan->ncpus;
	e = ndata_count(r->data, c);
	if (e)
		die(e, "counters");
	for (uint32_t i = 0; i < c->ncpus; i++) {
		sum.drops += c->cpu[i].drops;
		sum.agg_drops += c->cpu[i].agg_drops;
		sum.dyn_drops += c->cpu[i].dyn_drops;
		sum.live_drops += c->cpu[i].live_drops;
	}
	free(c);
	return sum;
}
