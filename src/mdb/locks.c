/* SPDX-License-Identifier: MIT */
/*
 * Locks: which threads wait, for what, who owns it, and who waits for one another.
 *
 * A thread that waits is in the system call futex(), whose arguments are in its registers. The
 * functions on its stack tell what it waits for, and the words there who owns it:
 *
 *     mutex      the futex is the first word of pthread_mutex_t; its third is the owner's id. With
 *                priority inheritance and in robust ones, the first word has the id, too.
 *     rwlock     one of three words of pthread_rwlock_t; __cur_writer is the owner, readers are
 *                counted only
 *     stdio      the lock of a FILE: a counter, and the owner's thread pointer
 *     malloc     the first word of an arena, which has no owner
 *     join       the futex is the id of a thread, which the kernel clears when it ends
 *     condition, semaphore, barrier: nobody owns these
 *
 * Facts    glibc sysdeps/nptl/bits/thread-shared-types.h, struct_mutex.h and struct_rwlock.h of
 *          x86: offsets since 2.25. Linux include/uapi/linux/futex.h. futex(2).
 */
#include <inttypes.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "arch/text.h"
#include "base/text.h"
#include "mdb/heap.h"
#include "mdb/impl.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13 /* Linux v5.14 */
#endif

#define FRAMES_LOCK  8u /* innermost frames in which the function is that makes a thread wait */
#define MUTEX_OWNER  8u
#define MUTEX_KIND   16u
#define MUTEX_SHARED 128u /* bit of its kind: of several processes */
#define RWLOCK_SIZE  56u
#define COND_SIGNALS 40u

enum lock_kind {
	LOCK_NONE,
	LOCK_FUTEX, /* of some other kind */
	LOCK_MUTEX,
	LOCK_RWLOCK,
	LOCK_STDIO,
	LOCK_MALLOC,
	LOCK_JOIN,
	LOCK_COND,
	LOCK_SEM,
	LOCK_BARRIER,
	LOCK_ONCE,
};

static const char *kind_name(enum lock_kind kind)
{
	switch (kind) {
	case LOCK_NONE: return "-";
	case LOCK_FUTEX: return "futex";
	case LOCK_MUTEX: return "mutex";
	case LOCK_RWLOCK: return "rwlock";
	case LOCK_STDIO: return "stdio";
	case LOCK_MALLOC: return "malloc";
	case LOCK_JOIN: return "join";
	case LOCK_COND: return "condition";
	case LOCK_SEM: return "semaphore";
	case LOCK_BARRIER: return "barrier";
	case LOCK_ONCE: return "once";
	}
	BUG("kind %d of a lock", (int)kind);
}

/* What functions make a thread wait for; parts of their names, as libc and its debug file have. */
static const struct {
	const char *part;
	enum lock_kind kind;
} waits[] = {
	{"pthread_mutex_", LOCK_MUTEX}, {"pthread_rwlock_", LOCK_RWLOCK},
	{"pthread_cond_", LOCK_COND},	{"sem_wait", LOCK_SEM},
	{"sem_timedwait", LOCK_SEM},	{"sem_clockwait", LOCK_SEM},
	{"pthread_join", LOCK_JOIN},	{"pthread_timedjoin", LOCK_JOIN},
	{"clockjoin", LOCK_JOIN},	{"pthread_barrier_wait", LOCK_BARRIER},
	{"pthread_once", LOCK_ONCE},	{"pthread_tryjoin", LOCK_JOIN},
};

#define NOBODY UINT32_MAX

struct thread {
	pid_t tid, inner; /* inner: as the program sees it */
	taddr tp;
	char name[17];
	enum lock_kind kind; /* what it waits for; LOCK_NONE: it does not wait for a futex */
	taddr lock;
	uint32_t owner;	     /* index of a thread; NOBODY: none of these */
	pid_t other;	     /* the owner, where that is none of these threads; 0: it is none */
	bool is_shared;	     /* the lock may be owned by another process */
	bool is_free;	     /* the lock has been given back, and the thread not woken yet */
	uint32_t nreaders;   /* of a rwlock */
	uint32_t nwaiters;   /* threads that wait for what this one owns */
	uint32_t walk;	     /* the search of rings in which it was seen; 0: none */
	struct strbuf from;  /* the caller of the function that waits */
	struct strbuf where; /* of a thread that does not wait: its innermost function */
};
typedef VEC(struct thread) thread_list;

/* ---- threads --------------------------------------------------------------------------------- */

static int thread_compare(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->inner > y->inner) - (x->inner < y->inner);
}

static uint32_t thread_find(const thread_list *list, uint32_t inner)
{
	uint32_t low = 0, high = list->len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if ((uint32_t)list->data[mid].inner == inner)
			return mid;
		if ((uint32_t)list->data[mid].inner < inner)
			low = mid + 1;
		else
			high = mid;
	}
	return NOBODY;
}

static void owner_set(const thread_list *list, struct thread *t, uint32_t inner)
{
	t->owner = thread_find(list, inner);
	if (t->owner == NOBODY)
		t->other = (pid_t)inner;
}

static bool word_read(struct mdb *m, taddr addr, uint32_t *ret)
{
	return mdb_read(m, addr, ret, sizeof(*ret));
}

/* ---- names of functions ---------------------------------------------------------------------- */

static enum lock_kind name_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		if (strstr(name, waits[i].part))
			return waits[i].kind;
	return LOCK_FUTEX;
}

static enum lock_kind addr_kind(struct mdb *m, taddr addr)
{
	struct strbuf name = {0};
	enum lock_kind kind = LOCK_FUTEX;

	if (mdb_name_add(m, addr, false, &name))
		kind = name_kind(strbuf_text(&name));
	strbuf_deinit(&name);
	return kind;
}

/*
 * What the function is for that was called before a return address: its stub has its name, or the
 * word has its address through which it was called.
 */
static enum lock_kind call_kind(struct mdb *m, taddr pc)
{
	enum lock_kind kind = LOCK_FUTEX;
	uint8_t code[32];

	for (uint32_t len = 2; kind == LOCK_FUTEX && len <= arch.insns->max_len; len++) {
		struct strbuf text = {0};
		struct insn_text insn;
		uint64_t word;

		if (!mdb_read(m, pc - len, code, len))
			break;
		insn = insn_text_add(&text, code, len, pc - len);
		strbuf_deinit(&text);
		if (insn.len != len || !insn.has_address)
			continue;
		kind = addr_kind(m, insn.address);
		if (kind == LOCK_FUTEX && mdb_read(m, insn.address, &word, sizeof(word)))
			kind = addr_kind(m, word);
	}
	return kind;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/*
 * Finds what makes a thread wait, and the caller: the first function of another file than the one
 * with the innermost. Functions of libc that are not exported have no names in a stripped file;
 * then the call tells which one was called.
 */
static enum lock_kind stack_kind(struct mdb *m, struct thread *t)
{
	enum lock_kind kind = LOCK_FUTEX;
	const struct mdb_object *libc = NULL;
	uint32_t caller = UINT32_MAX, nnative = 0;
	struct stack s;

	stack_take(m, t->tid, &s);
	for (uint32_t i = 0; i < s.frames.len && nnative < FRAMES_LOCK; i++) {
		struct frame *f = &s.frames.data[i];
		struct strbuf name = {0};

		if (f->kind != REPLAY_NATIVE)
			continue;
		frame_name_add(m, f, &name);
		if (!nnative++)
			libc = mdb_object_at(m, f->pc);
		else if (caller == UINT32_MAX && mdb_object_at(m, f->pc) != libc)
			caller = i;
		if (kind == LOCK_FUTEX)
			kind = name_kind(strbuf_text(&name));
		strbuf_deinit(&name);
		if (caller != UINT32_MAX)
			break;
	}
	if (caller != UINT32_MAX) {
		frame_name_add(m, &s.frames.data[caller], &t->from);
		if (kind == LOCK_FUTEX)
			kind = call_kind(m, s.frames.data[caller].pc);
	}
	stack_free(&s);
	return kind;
}

/* ---- what is waited for ---------------------------------------------------------------------- */

static void mutex_read(struct mdb *m, const thread_list *list, struct thread *t, int op)
{
	uint32_t word = 0, owner = 0, kind = 0;

	if (!word_read(m, t->lock, &word) || !word_read(m, t->lock + MUTEX_OWNER, &owner) ||
	    !word_read(m, t->lock + MUTEX_KIND, &kind))
		return;
	t->is_shared = kind & MUTEX_SHARED;
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 || word & FUTEX_WAITERS)
		owner = word & FUTEX_TID_MASK;
	t->is_free = !word;
	if (word && owner)
		owner_set(list, t, owner);
}

/* Readers wait for the second or fourth word, writers for the third or fourth. */
static void rwlock_read(struct mdb *m, const thread_list *list, struct thread *t)
{
	static const uint32_t words[] = {12, 8, 0};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		taddr at = t->lock - words[i];
		uint32_t lock[RWLOCK_SIZE / 4];
		uint32_t nreaders, writer, shared;

		if (at % 8 || !mdb_read(m, at, lock, sizeof(lock)))
			continue;
		nreaders = lock[0] >> 3;
		writer = lock[6];
		shared = lock[7];
		if (shared > 1 || nreaders > list->len + (shared ? 1u << 20 : 0) ||
		    (writer && !shared && thread_find(list, writer) == NOBODY) ||
		    (!writer && !nreaders))
			continue;
		t->lock = at;
		t->is_shared = shared;
		if (writer)
			owner_set(list, t, writer);
		else
			t->nreaders = nreaders;
		return;
	}
	t->kind = LOCK_FUTEX; /* the lock is not where it was expected */
}

/* A lock of libc itself: its first word is 2 while somebody waits. */
static void inner_read(struct mdb *m, const thread_list *list, struct thread *t)
{
	uint64_t words[2];
	struct heap *h;
	struct err *e;

	if (!mdb_read(m, t->lock, words, sizeof(words)) || (uint32_t)words[0] != 2)
		return;
	for (uint32_t i = 0; words[1] && i < list->len; i++) {
		if (list->data[i].tp != words[1])
			continue;
		t->kind = LOCK_STDIO;
		t->owner = i;
		return;
	}
	e = heap_get(m, &h);
	for (uint32_t i = 0; !e && i < h->arenas.len; i++)
		if (h->arenas.data[i].addr == t->lock)
			t->kind = LOCK_MALLOC;
	err_destroy(e); /* a program without such a heap has no such lock */
}

static void lock_read(struct mdb *m, const thread_list *list, struct thread *t, int op,
		      uint32_t expected)
{
	bool is_pi = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2;

	t->kind = stack_kind(m, t);
	/* A thread that was woken at a condition waits for the mutex again. */
	if (is_pi || (t->kind == LOCK_COND && op == FUTEX_WAIT))
		t->kind = LOCK_MUTEX;
	switch (t->kind) {
	case LOCK_MUTEX: mutex_read(m, list, t, op); break;
	case LOCK_RWLOCK: rwlock_read(m, list, t); break;
	case LOCK_COND: t->lock -= COND_SIGNALS + (t->lock & 4); break;
	case LOCK_JOIN: owner_set(list, t, expected); break;
	case LOCK_FUTEX:
		if (expected == 2)
			inner_read(m, list, t);
		break;
	case LOCK_NONE:
	case LOCK_STDIO:
	case LOCK_MALLOC:
	case LOCK_SEM:
	case LOCK_BARRIER:
	case LOCK_ONCE: break;
	}
}

static bool op_waits(int op)
{
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
	       op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
}

/* The list is sorted by inner; what it says of a thread's lock is added here. */
static void thread_read(struct mdb *m, const thread_list *list, struct thread *t)
{
	struct arch_regs regs;
	struct err *e = target_regs(m->t, t->tid, &regs);
	uint64_t call;
	int op;

	if (e) {
		err_destroy(e); /* a thread that has ended waits for nothing */
		return;
	}
	call = regs.words[arch.sys_nr / 8];
	op = (int)(regs.words[arch.sys_args[1] / 8] & FUTEX_CMD_MASK);
	/* The kernel makes the second of the first, when a signal has interrupted it. */
	if ((call != SYS_futex && call != SYS_restart_syscall) || !op_waits(op)) {
		if (!mdb_name_add(m, regs.words[arch.pc / 8], false, &t->where))
			strbuf_addf(&t->where, "0x%" PRIx64, regs.words[arch.pc / 8]);
		return;
	}
	t->lock = regs.words[arch.sys_args[0] / 8];
	lock_read(m, list, t, op, (uint32_t)regs.words[arch.sys_args[2] / 8]);
	if (call == SYS_restart_syscall && t->kind == LOCK_FUTEX)
		t->kind = LOCK_NONE; /* it may be any call */
}

static void threads_read(struct mdb *m, thread_list *ret)
{
	for (uint32_t i = 0; i < m->tids.len; i++) {
		struct thread t = {.tid = m->tids.data[i], .owner = NOBODY};
		struct target_who who;
		struct arch_regs regs;
		struct err *e;

		if (!target_who(m->t, t.tid, &who))
			continue;
		t.inner = who.inner;
		memcpy(t.name, who.name, sizeof(t.name));
		e = target_regs(m->t, t.tid, &regs);
		t.tp = e ? 0 : regs.thread_pointer;
		err_destroy(e); /* a thread that has ended owns locks by its id only */
		vec_push(ret, t);
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), thread_compare);
	for (uint32_t i = 0; i < ret->len && !m->is_interrupted; i++)
		thread_read(m, ret, &ret->data[i]);
	for (uint32_t i = 0; i < ret->len; i++)
		if (ret->data[i].owner != NOBODY)
			ret->data[ret->data[i].owner].nwaiters++;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void text_emit(struct mdb *m, const char *member, const struct strbuf *text, int width)
{
	emit_bytes(&m->out, member, text->len ? strbuf_text(text) : "-", text->len ? text->len : 1,
		   width);
}

static void waiter_row(struct mdb *m, const thread_list *list, const struct thread *t)
{
	const struct thread *owner = t->owner == NOBODY ? NULL : &list->data[t->owner];
	struct strbuf name = {0};

	emit_row(&m->out);
	emit_value(&m->out, (uint64_t)t->tid);
	emit_int(&m->out, "tid", t->tid, 10);
	emit_str(&m->out, "name", t->name, -16);
	emit_str(&m->out, "kind", kind_name(t->kind), -10);
	emit_addr(&m->out, "lock", t->lock, 16);
	if (owner)
		emit_int(&m->out, "owner", owner->tid, 10);
	else
		emit_say(&m->out, "%10s ", "-");
	text_emit(m, "caller", &t->from, -30);
	if (mdb_name_add(m, t->lock, false, &name))
		emit_bytes(&m->out, "lock-name", strbuf_text(&name), name.len, 1);
	strbuf_deinit(&name);
	if (t->is_free)
		emit_say(&m->out, "(free by now)");
	emit_bool(&m->out, "is-free", t->is_free);
	if (t->nreaders) {
		emit_say(&m->out, "(readers have it: %u)", t->nreaders);
		emit_int(&m->out, "readers", t->nreaders, 0);
	}
	if (t->other) {
		emit_say(&m->out, "(thread %d has it, which %s)", (int)t->other,
			 t->is_shared ? "is of another process, or has ended" : "has ended");
		emit_int(&m->out, "lost-owner", t->other, 0);
	}
	emit_end(&m->out);
}

static void owner_row(struct mdb *m, const struct thread *t)
{
	emit_row(&m->out);
	emit_say(&m->out, "owner: ");
	emit_int(&m->out, "owner", t->tid, 1);
	emit_str(&m->out, "owner-name", t->name, 1);
	emit_int(&m->out, "waiters", t->nwaiters, 0);
	emit_say(&m->out, "(%u thread%s), ", t->nwaiters, PLURAL(t->nwaiters));
	if (t->kind == LOCK_NONE) {
		emit_say(&m->out, "in ");
		text_emit(m, "function", &t->where, 1);
	} else {
		emit_say(&m->out, "waits for a %s in ", kind_name(t->kind));
		text_emit(m, "function", &t->from, 1);
	}
	emit_end(&m->out);
}

/* Shows the ring of threads that wait for one another and of which thread first is one. */
static void ring_row(struct mdb *m, const thread_list *list, uint32_t first)
{
	uint32_t at = first;

	emit_row(&m->out);
	emit_value(&m->out, (uint64_t)list->data[first].tid);
	emit_say(&m->out, "deadlock: %d", (int)list->data[first].tid);
	emit_list(&m->out, "deadlock");
	do {
		emit_list_int(&m->out, list->data[at].tid);
		at = list->data[at].owner;
		emit_say(&m->out, " -> %d", (int)list->data[at].tid);
	} while (at != first);
	emit_list_end(&m->out);
	emit_end(&m->out);
}

/* Each thread waits for one other at most: who follows the owners comes to an end, or to a ring. */
static void rings_show(struct mdb *m, thread_list *list)
{
	for (uint32_t i = 0; i < list->len; i++) {
		uint32_t at = i;

		while (at != NOBODY && !list->data[at].walk) {
			list->data[at].walk = i + 1;
			at = list->data[at].owner;
		}
		if (at != NOBODY && list->data[at].walk == i + 1)
			ring_row(m, list, at);
	}
}

struct err *cmd_locks(struct mdb *m, const struct call *c)
{
	thread_list list = {0};
	uint32_t nwaiting = 0;

	threads_read(m, &list);
	for (uint32_t i = 0; i < list.len && !m->is_interrupted; i++) {
		if (list.data[i].kind == LOCK_NONE)
			continue;
		if (!nwaiting++)
			emit_say(&m->out, "%10s %-16s %-10s %16s %10s %-30s %s\n", "TID", "NAME",
				 "WAITS FOR", "AT", "OWNER", "CALLER", "LOCK");
		waiter_row(m, &list, &list.data[i]);
	}
	if (!m->is_interrupted && !m->out.is_piped) {
		for (uint32_t i = 0; i < list.len; i++)
			if (list.data[i].nwaiters)
				owner_row(m, &list.data[i]);
		rings_show(m, &list);
		emit_end(&m->out);
		if (!nwaiting)
			emit_say(&m->out, "no thread waits for a lock\n");
	}
	for (uint32_t i = 0; i < list.len; i++) {
		strbuf_deinit(&list.data[i].from);
		strbuf_deinit(&list.data[i].where);
	}
	vec_deinit(&list);
	return NULL;
}
