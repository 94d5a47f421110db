/* SPDX-License-Identifier: MIT */
/* Counts what the sessions of a user take together (quota.h). */
#include "kernel/quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/text.h"
#include "base/vec.h"
#include "kernel/capabilities.h"
#include "kernel/cpu_budget.h"
#include "kernel/kernel.h"
#include "kernel/quota_witness.h"

#define MIB	    ((uint64_t)1 << 20)
#define THREAD_ROOM (256u << 10) /* bytes of stack: sanitizers want more than we do */
#define NAME_ROOM   16		 /* of a thread, with NUL */
#define READ_ROOM   8192u	 /* bytes; more than most processes' status */
#define READ_MAX    (4u << 20)	 /* bytes; the status of a process in 65536 groups is less */
#define SECOND_NS   1000000000ull
#define SCANS_NS    SECOND_NS	/* so long a session waits for others that are ending */
#define SCANS_MIN   10000000ull /* at least so long between two looks */
/* A session that has not ended by itself, because it waits for its output, is ended after that. */
#define END_NS	    LOOK_MIN_NS
#define END_TOLD_NS (3 * SECOND_NS) /* it has told why, and is about to end */
#define LOOK_MIN_NS 10000000	    /* at least so long between two looks at the CPU time */
#define WAIT_NS	    50000000u	    /* a signal is heeded after that */
#define CPU_REMEDY                                                                                 \
	"trace less that others do as well: fewer system calls, slower timers, no children (-x "   \
	"follow)"
#define ASKS_NAME "q?" /* of the thread while the session asks whether it may be one */

/* One for the process, as its capabilities are. */
static struct {
	bool is_on; /* constant after quota_begin() */
	struct quota of[QUOTA_NKINDS];
	char who[64], path[64];
	uint64_t taken[QUOTA_NKINDS]; /* under lock, as all below */
	char name[NAME_ROOM];	      /* what the thread is to be called */
	bool is_named;		      /* it is */
	/* by CPU: what was taken, and how far the kernel lets it grow; NULL: there are none */
	const uint64_t *taken_ns;
	uint64_t *most_ns;
	size_t stride;
	uint32_t ncounters;
	int control_fd, alarm_fd; /* the maps of these counters; valid where taken_ns is not NULL */
	struct cpu_budget budget;
	uint64_t nothers, scanned_at; /* the user's other sessions, and when they were counted */
	timer_t timer;
	uint64_t wound_at; /* shortly before the timer was wound last */
	int over_fd;	   /* an eventfd: can be read when is_over is set; constant */
	uint64_t over_at;
	atomic_bool is_over, is_told;
	char over[400];		      /* why; constant when is_over is set */
	struct witness_area *witness; /* NULL: there is none */
	pthread_mutex_t lock;
	pthread_cond_t changed, named;
} q = {.lock = PTHREAD_MUTEX_INITIALIZER, .named = PTHREAD_COND_INITIALIZER};

/* ---- words ----------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	uint64_t preset; /* quota_default() adds to that of memory */
} kinds[QUOTA_NKINDS] = {
	[QUOTA_SESSIONS] = {"sessions", 4},
	[QUOTA_MEMORY] = {"memory", 256 * MIB},
	[QUOTA_PROBES] = {"probes", 10000},
	[QUOTA_CPU] = {"cpu", 500},
};

const char *quota_word(enum quota_kind kind)
{
	return kinds[kind].word;
}

/* Each CPU has buffers of its own. */
struct quota quota_default(enum quota_kind kind)
{
	uint64_t max = kinds[kind].preset;

	if (kind == QUOTA_MEMORY)
		max = MIN(max + 32 * MIB * cpus_possible(), QUOTA_MEMORY_MAX);
	return (struct quota){.max = max};
}

const char *quota_text(enum quota_kind kind, uint64_t max, char buf[QUOTA_TEXT_MAX])
{
	if (kind == QUOTA_MEMORY)
		(void)snprintf(buf, QUOTA_TEXT_MAX, "memory=%" PRIu64 "m", max / MIB);
	else if (kind == QUOTA_CPU && max % 100)
		(void)snprintf(buf, QUOTA_TEXT_MAX, "cpu=%" PRIu64 ".%02u%%", max / 100,
			       (unsigned int)(max % 100));
	else
		(void)snprintf(buf, QUOTA_TEXT_MAX, "%s=%" PRIu64 "%s", kinds[kind].word,
			       kind == QUOTA_CPU ? max / 100 : max, kind == QUOTA_CPU ? "%" : "");
	return buf;
}

static uint64_t bytes_to_mibs(uint64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

/* Memory is claimed in MiB, several at once: to look through /proc takes some milliseconds. */
static uint64_t claimed_mibs(uint64_t bytes)
{
	uint64_t max = q.of[QUOTA_MEMORY].max / MIB, step = MAX(max / 16, 1u);

	return MIN((bytes_to_mibs(bytes) + step - 1) / step * step, MAX(max, bytes_to_mibs(bytes)));
}

bool quota_name_parse(const char *name, uint64_t *ret_memory, uint64_t *ret_probes)
{
	unsigned int memory, probes;
	char again[2 * NAME_ROOM];

	if (sscanf(name, "q%6um%6up", &memory, &probes) != 2)
		return false;
	(void)snprintf(again, sizeof(again), "q%um%up", memory, probes);
	*ret_memory = memory * MIB;
	*ret_probes = probes;
	return strcmp(again, name) == 0;
}

/* ---- the sessions of the user ---------------------------------------------------------------- */

/* A process with the capabilities of the command's file. */
struct member {
	pid_t pid, ppid;
	uint64_t begin;	 /* in ticks of the kernel */
	bool is_session; /* it has a thread whose name says what it has taken, or that it asks */
	bool asks;	 /* it is not admitted yet */
	bool is_keeper;	 /* or the user has named a command so, which is counted then */
	uint64_t memory, probes;
};

struct members {
	VEC(struct member) list;
};

/* The sums that the user's other sessions have taken. */
struct others {
	uint64_t sessions;
	uint64_t admitted; /* of these: they trace, or are keepers that have lost their session */
	uint64_t older;	   /* and not admitted yet, but have begun before this one */
	uint64_t memory, probes;
	pid_t pid; /* of one of them, an admitted one if there is any */
};

/* Whether an errno says that a process, or a thread, is not there any more. */
static bool is_gone(int sys)
{
	return sys == ENOENT || sys == ESRCH;
}

/*
 * An error of counting. A session that could not be read might be there: a user can lower the limit
 * of open files of his own processes at any time.
 */
static struct err *count_err(int sys)
{
	return err_hint(err_sys(sys,
				"the other sessions of %s cannot be seen in /proc, and so not be "
				"counted",
				q.who),
			sys == EMFILE || sys == ENFILE
				? "the limit of open files is too low: ulimit -n"
				: "/proc must be mounted, that of this PID namespace, and not "
				  "with hidepid=; or root traces");
}

/* Reads a file of /proc, all of it, as a string. Returns 0 or an errno. */
static int proc_read(struct strbuf *text, const char *fmt, pid_t pid, const char *rest)
{
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), fmt, (int)pid, rest);
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	strbuf_clear(text);
	do {
		n = read(fd, strbuf_room(text, READ_ROOM), READ_ROOM);
		if (n < 0)
			return errno;
		strbuf_wrote(text, (size_t)n);
	} while (n && text->len < READ_MAX);
	return n ? EFBIG : 0;
}

/* The number behind a name at the beginning of a line. */
static bool line_number(const char *text, const char *name, int base, uint64_t *ret)
{
	const char *at = strstr(text, name);

	if (!at)
		return false;
	*ret = strtoull(at + strlen(name), NULL, base);
	return true;
}

/*
 * Whether the process is the user's, and has its capabilities from the command's file. One that has
 * ended, and whose parent does not ask for its status, has nothing any more. Returns 0, or an
 * errno: is_gone() if the process is not there, EPROTO if its status lacks something.
 */
static int member_read(struct strbuf *text, pid_t pid, struct member *ret, bool *ret_is_member)
{
	const uint64_t needed = capability_bit(CAP_BPF) | capability_bit(CAP_PERFMON);
	uint64_t uid, ppid, permitted, inheritable;
	const char *status, *end;
	int sys = proc_read(text, "/proc/%d/%s", pid, "status");

	*ret_is_member = false;
	if (sys)
		return sys;
	status = strbuf_text(text);
	if (!line_number(status, "\nPPid:", 10, &ppid) ||
	    !line_number(status, "\nUid:", 10, &uid) ||
	    !line_number(status, "\nCapInh:", 16, &inheritable) ||
	    !line_number(status, "\nCapPrm:", 16, &permitted))
		return EPROTO;
	if (uid != getuid() || (inheritable & needed) == needed || (permitted & needed) != needed ||
	    strstr(status, "\nState:\tZ"))
		return 0;
	*ret = (struct member){.pid = pid, .ppid = (pid_t)ppid};
	sys = proc_read(text, "/proc/%d/%s", pid, "stat");
	if (sys)
		return sys;
	end = strrchr(strbuf_text(text), ')'); /* the name may have anything */
	ret->is_keeper = end && strstr(strbuf_text(text), "(" KEEPER_NAME ")") ==
					end - strlen("(" KEEPER_NAME);
	for (uint32_t i = 0; end && i < 20; i++)
		end = strchr(end + 1, ' ');
	if (!end)
		return EPROTO;
	ret->begin = strtoull(end, NULL, 10);
	*ret_is_member = true;
	return 0;
}

/* Reads the name of a thread, which may say what the session has taken. Returns 0 or an errno. */
static int thread_ask(struct strbuf *text, struct member *m, pid_t tid)
{
	uint64_t memory, probes;
	char rest[64], name[64];
	int sys;

	(void)snprintf(rest, sizeof(rest), "task/%d/comm", (int)tid);
	sys = proc_read(text, "/proc/%d/%s", m->pid, rest);
	if (sys)
		return is_gone(sys) ? 0 : sys;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(strbuf_text(text), "\n"),
		       strbuf_text(text));
	if (strcmp(name, ASKS_NAME) == 0)
		m->is_session = m->asks = true;
	if (!quota_name_parse(name, &memory, &probes))
		return 0;
	m->is_session = true;
	m->memory = MAX(m->memory, memory);
	m->probes = MAX(m->probes, probes);
	return 0;
}

/*
 * Returns the next id of a process or thread that a folder of /proc has; 0: there is none, or
 * *ret_sys is the errno that says why the folder cannot be read further.
 */
static pid_t number_next(DIR *dir, int *ret_sys)
{
	const struct dirent *d;
	long number;

	do {
		errno = 0;
		d = readdir(dir);
		if (!d) {
			*ret_sys = errno;
			return 0;
		}
		number = strtol(d->d_name, NULL, 10);
	} while (number <= 0);
	return (pid_t)number;
}

/*
 * Looks for the thread that says what the session has taken. The first thread is none: execve()
 * gives it the name of the file or symbolic link, which the user chooses. Returns 0 or an errno.
 */
static int member_ask(struct strbuf *text, struct member *m)
{
	char path[64];
	pid_t tid;
	DIR *dir;
	int sys = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)m->pid);
	dir = opendir(path);
	if (!dir)
		return errno;
	while (!sys && (tid = number_next(dir, &sys)))
		if (tid != m->pid)
			sys = thread_ask(text, m, tid);
	(void)closedir(dir);
	return sys;
}

/* Adds the process, if it is a member. Returns 0 or an errno. */
static int member_add(struct strbuf *text, struct members *ms, pid_t pid)
{
	bool is_member;
	struct member m;
	int sys = member_read(text, pid, &m, &is_member);

	if (!sys && is_member)
		sys = member_ask(text, &m);
	if (sys)
		return is_gone(sys) ? 0 : sys;
	if (is_member)
		vec_push(&ms->list, m);
	return 0;
}

/* The caller frees the list, also after an error. */
static struct err *members_find(struct members *ret)
{
	struct strbuf text = {0};
	DIR *dir = opendir("/proc");
	pid_t pid;
	int sys = dir && access("/proc/1/status", R_OK) == 0 ? 0 : errno;

	while (!sys && (pid = number_next(dir, &sys)))
		sys = member_add(&text, ret, pid);
	if (dir)
		(void)closedir(dir);
	strbuf_deinit(&text);
	return sys ? count_err(sys) : NULL;
}

static const struct member *member_by_pid(const struct members *ms, pid_t pid)
{
	for (uint32_t i = 0; i < ms->list.len; i++)
		if (ms->list.data[i].pid == pid)
			return &ms->list.data[i];
	return NULL;
}

/*
 * The session to which a process belongs: the keeper to its parent; what begins, or has lost its
 * parent, to itself.
 */
static const struct member *member_session(const struct members *ms, const struct member *m)
{
	for (uint32_t i = 0; i < 8 && !m->is_session; i++) {
		const struct member *parent = member_by_pid(ms, m->ppid);

		if (!parent)
			break;
		m = parent;
	}
	return m;
}

static bool is_older(const struct member *a, const struct member *b)
{
	return a->begin < b->begin || (a->begin == b->begin && a->pid < b->pid);
}

static struct err *others_count(struct others *ret)
{
	struct members ms = {0};
	struct err *e = members_find(&ms);
	const struct member *self = member_by_pid(&ms, getpid());

	*ret = (struct others){0};
	if (!e && !self)
		e = count_err(ESRCH);
	for (uint32_t i = 0; i < ms.list.len && !e; i++) {
		const struct member *m = &ms.list.data[i];
		bool is_admitted;

		if (m == self || member_session(&ms, m) != m)
			continue;
		is_admitted = m->is_session ? !m->asks : m->is_keeper;
		if (is_admitted || !ret->admitted)
			ret->pid = m->pid;
		ret->sessions++;
		ret->admitted += is_admitted;
		ret->older += !is_admitted && is_older(m, self);
		ret->memory += m->memory;
		ret->probes += m->probes;
	}
	vec_deinit(&ms.list);
	return e;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static const char *origin_text(enum quota_kind kind, char *buf, size_t size)
{
	if (q.of[kind].line)
		(void)snprintf(buf, size, "%s:%u", q.path, q.of[kind].line);
	else
		(void)snprintf(buf, size, "the default; %s can give more", q.path);
	return buf;
}

/* Lets the thread take a name; under lock. */
static void name_publish(const char *name)
{
	if (strcmp(name, q.name) == 0)
		return;
	(void)snprintf(q.name, sizeof(q.name), "%s", name);
	q.is_named = false;
	(void)pthread_cond_signal(&q.changed);
	while (!q.is_named)
		(void)pthread_cond_wait(&q.named, &q.lock);
}

/* Lets the thread take the name that says what is taken; under lock. */
static void taken_publish(void)
{
	char name[NAME_ROOM];

	(void)snprintf(name, sizeof(name), "q%um%up",
		       (unsigned int)MIN(claimed_mibs(q.taken[QUOTA_MEMORY]),
					 QUOTA_MEMORY_MAX / MIB),
		       (unsigned int)MIN(q.taken[QUOTA_PROBES], QUOTA_PROBES_MAX));
	name_publish(name);
}

static bool is_within(enum quota_kind kind, const struct others *o)
{
	if (kind == QUOTA_SESSIONS)
		return o->admitted + o->older < q.of[kind].max;
	if (kind == QUOTA_MEMORY)
		return o->memory / MIB + claimed_mibs(q.taken[kind]) <= q.of[kind].max / MIB;
	return o->probes + q.taken[kind] <= q.of[kind].max;
}

/*
 * Counts the others; under lock, which is not held meanwhile: the thread must tell the kernel how
 * far the budget has grown.
 */
static struct err *others_look(struct others *o)
{
	struct err *e;

	(void)pthread_mutex_unlock(&q.lock);
	e = others_count(o);
	(void)pthread_mutex_lock(&q.lock);
	return e;
}

/*
 * Before this session looks again: two that have asked at once do not look at the same time. Under
 * lock, as others_look().
 */
static void look_later(void)
{
	struct timespec ts = {.tv_nsec =
				      (long)(SCANS_MIN + (now_ns() ^ getpid()) % 16 * SCANS_MIN)};

	(void)pthread_mutex_unlock(&q.lock);
	(void)nanosleep(&ts, NULL);
	(void)pthread_mutex_lock(&q.lock);
}

/* Sessions that are ending are waited for, for a moment. */
static struct err *others_wait(enum quota_kind kind, struct others *o, bool *ret_is_within)
{
	uint64_t until = now_ns() + SCANS_NS;
	struct err *e;

	for (;;) {
		e = others_look(o);
		*ret_is_within = !e && is_within(kind, o);
		if (e || *ret_is_within || now_ns() >= until ||
		    (kind != QUOTA_SESSIONS && q.taken[kind] > q.of[kind].max))
			return e;
		look_later();
	}
}

/*
 * Asks whether the user may have one more session; under lock. Among those that ask, the older one
 * goes first. When a process has begun proves nothing, because the user can have begun it long
 * before it executes the command; so who is admitted says that, counts those who are admitted once
 * more, and draws back if they are too many: of two that are admitted at once, the one that has
 * said it later sees the other.
 */
static struct err *session_admit(struct others *o, bool *ret_is_good)
{
	const uint64_t until = now_ns() + SCANS_NS;
	struct err *e;

	for (;;) {
		name_publish(ASKS_NAME);
		e = others_wait(QUOTA_SESSIONS, o, ret_is_good);
		if (e || !*ret_is_good)
			return e;
		taken_publish();
		e = others_look(o);
		*ret_is_good = !e && o->admitted < q.of[QUOTA_SESSIONS].max;
		if (e || *ret_is_good)
			return e;
		name_publish(ASKS_NAME);
		if (now_ns() >= until)
			return NULL;
		look_later();
	}
}

static struct err *spent_err(enum quota_kind kind, const struct others *o, uint64_t n)
{
	char text[QUOTA_TEXT_MAX], others[160] = "", origin[128];
	uint64_t wanted = q.taken[kind] + n;

	(void)quota_text(kind, q.of[kind].max, text);
	(void)origin_text(kind, origin, sizeof(origin));
	if (kind == QUOTA_SESSIONS) /* n: the others */
		return err_hint(err_new("%s has %" PRIu64 " session%s already, and the quota is "
					"%s (%s)",
					q.who, n, PLURAL(n), text, origin),
				"one of them is process %d: it, or the dtrace that it belonged to, "
				"has not ended",
				(int)o->pid);
	if (o->sessions)
		(void)snprintf(others, sizeof(others),
			       ", and %" PRIu64 " other session%s of %s %s %" PRIu64 "%s",
			       o->sessions, o->sessions == 1 ? "" : "s", q.who,
			       o->sessions == 1 ? "has" : "have",
			       kind == QUOTA_MEMORY ? o->memory / MIB : o->probes,
			       kind == QUOTA_MEMORY ? " MiB" : "");
	if (kind == QUOTA_MEMORY)
		return err_hint(err_sys(ENOMEM,
					"maps and buffers would take %" PRIu64 " MiB%s; the quota "
					"is %s (%s)",
					bytes_to_mibs(wanted), others, text, origin),
				"smaller buffers (-b, -x aggsize, -x dynvarsize), or ask root for "
				"more");
	return err_hint(err_new("%" PRIu64 " probe%s%s; the quota is %s (%s)", wanted,
				PLURAL(wanted), others, text, origin),
			"name fewer probes, or ask root for more");
}

struct err *quota_take(enum quota_kind kind, uint64_t n)
{
	struct others o;
	bool is_good = true;
	struct err *e = NULL;

	if (!q.is_on || !n)
		return NULL;
	(void)pthread_mutex_lock(&q.lock);
	if (n > q.of[kind].max) { /* nor can the sum overflow */
		(void)pthread_mutex_unlock(&q.lock);
		return spent_err(kind, &(struct others){0}, n);
	}
	q.taken[kind] += n;
	if (kind != QUOTA_MEMORY ||
	    claimed_mibs(q.taken[kind]) != claimed_mibs(q.taken[kind] - n)) {
		taken_publish();
		e = others_wait(kind, &o, &is_good);
	}
	if (e || !is_good) {
		q.taken[kind] -= n;
		taken_publish();
		if (!e)
			e = spent_err(kind, &o, n);
	}
	(void)pthread_mutex_unlock(&q.lock);
	return e;
}

void quota_give(enum quota_kind kind, uint64_t n)
{
	if (!q.is_on || !n)
		return;
	(void)pthread_mutex_lock(&q.lock);
	q.taken[kind] -= MIN(n, q.taken[kind]);
	taken_publish();
	(void)pthread_mutex_unlock(&q.lock);
}

uint64_t quota_taken(enum quota_kind kind)
{
	uint64_t n;

	if (!q.is_on)
		return 0;
	(void)pthread_mutex_lock(&q.lock);
	n = q.taken[kind];
	(void)pthread_mutex_unlock(&q.lock);
	return n;
}

/* ---- the thread ------------------------------------------------------------------------------ */

bool quota_counts_cpu(void)
{
	return q.is_on && q.of[QUOTA_CPU].max < QUOTA_CPU_MAX;
}

static uint64_t *counter_at(const uint64_t *first, uint32_t cpu)
{
	return (uint64_t *)(void *)((uintptr_t)first + cpu * q.stride);
}

/*
 * Brings the budget up to date, and tells the kernel how far it goes; under lock. Returns whether
 * anything was taken.
 */
static bool budget_update(uint64_t now)
{
	uint32_t n = q.taken_ns ? MIN(q.ncounters, q.budget.ncpus) : 0;
	uint64_t before, taken;
	bool is_taken = false;

	for (uint32_t i = 0; i < n; i++) {
		before = q.budget.cpus[i].taken;
		taken = __atomic_load_n(counter_at(q.taken_ns, i), __ATOMIC_RELAXED);
		if (q.witness &&
		    taken > __atomic_load_n(counter_at(q.most_ns, i), __ATOMIC_RELAXED))
			atomic_store(&q.witness->is_alarmed, true);
		cpu_budget_take(&q.budget, i, taken);
		is_taken |= taken != before;
	}
	cpu_budget_grow(&q.budget, now, q.of[QUOTA_CPU].max, q.nothers + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct cpu_left *c = &q.budget.cpus[i];

		__atomic_store_n(counter_at(q.most_ns, i),
				 c->taken + (uint64_t)MAX(c->left, 0) + CPU_BUDGET_KILL_NS,
				 __ATOMIC_RELAXED);
	}
	return is_taken;
}

void quota_watch(const uint64_t *taken, uint64_t *most, size_t stride, uint32_t n)
{
	(void)pthread_mutex_lock(&q.lock);
	q.taken_ns = taken;
	q.most_ns = most;
	q.stride = stride;
	q.ncounters = n;
	if (!taken) {
		witness_end(q.witness);
		q.witness = NULL;
	}
	if (quota_counts_cpu())
		(void)budget_update(now_ns());
	(void)pthread_cond_signal(&q.changed);
	(void)pthread_mutex_unlock(&q.lock);
}

void quota_set_maps(int control_fd, int alarm_fd)
{
	(void)pthread_mutex_lock(&q.lock);
	q.control_fd = control_fd;
	q.alarm_fd = alarm_fd;
	(void)pthread_mutex_unlock(&q.lock);
}

/* The messages about what the session cannot say itself any more. */
static void witness_texts(struct witness_area *a)
{
	static const char ended[] = "dtrace: the kernel has ended this session";
	char text[QUOTA_TEXT_MAX], origin[128];

	(void)snprintf(a->overdrawn, sizeof(a->overdrawn),
		       "%s: its probes took more of a CPU from others than the quota of %s, %s "
		       "(%s), has left\nhint: %s\n",
		       ended, q.who, quota_text(QUOTA_CPU, q.of[QUOTA_CPU].max, text),
		       origin_text(QUOTA_CPU, origin, sizeof(origin)), CPU_REMEDY);
	(void)snprintf(a->stopped, sizeof(a->stopped),
		       "%s: it was stopped, or kept from running, for %d s, and its probes were "
		       "still there\nhint: end it (^C) instead, and begin another one later\n",
		       ended, QUOTA_STOPPED_S);
}

void quota_begin_witness(const void *control, size_t size, int control_fd)
{
	struct witness_area *a;

	if (!q.is_on || q.witness)
		return;
	a = witness_area_create();
	if (!a)
		return;
	(void)pthread_mutex_lock(&q.lock);
	witness_texts(a);
	a->stopped_ns = QUOTA_STOPPED_S * SECOND_NS;
	a->control_size = size;
	if (q.taken_ns) {
		a->taken_off = (size_t)((uintptr_t)q.taken_ns - (uintptr_t)control);
		a->most_off = (size_t)((uintptr_t)q.most_ns - (uintptr_t)control);
		a->stride = q.stride;
		a->ncounters = q.ncounters;
	}
	atomic_store(&a->wound_at, q.wound_at);
	q.witness = a;
	(void)pthread_mutex_unlock(&q.lock);
	witness_begin(a, control_fd);
}

bool quota_maps(int *ret_control_fd, int *ret_alarm_fd)
{
	bool is_watching;

	(void)pthread_mutex_lock(&q.lock);
	is_watching = q.taken_ns != NULL;
	*ret_control_fd = q.control_fd;
	*ret_alarm_fd = q.alarm_fd;
	(void)pthread_mutex_unlock(&q.lock);
	return is_watching;
}

static void session_end(uint64_t now)
{
	static const uint64_t one = 1;
	char text[QUOTA_TEXT_MAX], origin[128], mine[QUOTA_TEXT_MAX];

	(void)snprintf(q.over, sizeof(q.over),
		       "probes of this session take %s of a CPU from others; the quota of %s "
		       "is %s (%s)%s",
		       quota_text(QUOTA_CPU, cpu_budget_share(&q.budget), mine) + strlen("cpu="),
		       q.who, quota_text(QUOTA_CPU, q.of[QUOTA_CPU].max, text),
		       origin_text(QUOTA_CPU, origin, sizeof(origin)),
		       q.nothers ? ", for all sessions together" : "");
	q.over_at = now;
	atomic_store(&q.is_over, true);
	(void)!write(q.over_fd, &one, sizeof(one));
}

/* Whatever the main thread does, this one sees to it that the session ends. */
static void session_end_now(void)
{
	static const char before[] = "dtrace: ", after[] = "\n";

	if (!atomic_exchange(&q.is_told, true)) {
		(void)!write(STDERR_FILENO, before, sizeof(before) - 1);
		(void)!write(STDERR_FILENO, q.over, strlen(q.over));
		(void)!write(STDERR_FILENO, after, sizeof(after) - 1);
	}
	if (q.witness)
		atomic_store(&q.witness->is_over, true);
	_exit(1);
}

/*
 * Looks for other sessions when that can matter only. Where they cannot be counted, there are as
 * many as there may be.
 */
static void others_update(uint64_t now)
{
	struct others o;
	struct err *e;

	if (now - q.scanned_at < SECOND_NS ||
	    cpu_budget_is_full(&q.budget, q.of[QUOTA_CPU].max, q.nothers + 1))
		return;
	e = others_count(&o);
	q.nothers = e ? MAX(q.nothers, q.of[QUOTA_SESSIONS].max - 1) : o.sessions;
	err_destroy(e);
	q.scanned_at = now;
}

static void cpu_look(void)
{
	bool is_taken;

	if (q.over_at) {
		if (now_ns() - q.over_at > (atomic_load(&q.is_told) ? END_TOLD_NS : END_NS))
			session_end_now();
		return;
	}
	is_taken = budget_update(now_ns()); /* to look for others may take a while */
	others_update(now_ns());
	if ((budget_update(now_ns()) || is_taken) && cpu_budget_least(&q.budget) < 0)
		session_end(now_ns());
}

/*
 * The time until the next look: a CPU cannot lose more than all of its time, so until then what is
 * left lasts.
 */
static uint64_t look_ns(void)
{
	int64_t least = q.over_at ? 0 : cpu_budget_least(&q.budget);

	if (!quota_counts_cpu() || !q.taken_ns)
		return SECOND_NS;
	return MIN((uint64_t)MAX(least, LOOK_MIN_NS), SECOND_NS);
}

int quota_over_fd(void)
{
	return q.is_on ? q.over_fd : -1;
}

void quota_wait(const atomic_int *is_interrupted, void (*notice)(void *ctx, const char *msg),
		void *ctx)
{
	bool is_told = false;
	struct timespec ts = {0};
	uint64_t ns, max = q.of[QUOTA_CPU].max;
	char text[160], quota[QUOTA_TEXT_MAX];

	while (quota_counts_cpu() && !atomic_load(is_interrupted)) {
		(void)pthread_mutex_lock(&q.lock);
		others_update(now_ns());
		(void)budget_update(now_ns());
		ns = cpu_budget_wait_ns(&q.budget, CPU_BUDGET_BEGIN_NS, max, q.nothers + 1);
		(void)pthread_mutex_unlock(&q.lock);
		if (!ns)
			return;
		if (!is_told && ns > SECOND_NS) {
			(void)snprintf(text, sizeof(text),
				       "tracing begins in %" PRIu64 " s: sessions that begin one "
				       "after the other share %s, too",
				       (uint64_t)(ns / SECOND_NS),
				       quota_text(QUOTA_CPU, max, quota));
			notice(ctx, text);
			is_told = true;
		}
		ts.tv_nsec = (long)MIN(ns, WAIT_NS);
		(void)nanosleep(&ts, NULL);
	}
}

static void timer_wind(void)
{
	const struct itimerspec its = {.it_value = {.tv_sec = QUOTA_STOPPED_S}};

	q.wound_at = now_ns();
	if (q.witness)
		atomic_store(&q.witness->wound_at, q.wound_at);
	(void)timer_settime(q.timer, 0, &its, NULL); /* cannot fail */
}

/* Takes the name that is asked for, and looks at the CPU time before the budget can be used up. */
static void *quota_run(void *unused)
{
	uint64_t now, next = 0;
	struct timespec until;

	(void)unused;
	(void)pthread_mutex_lock(&q.lock);
	for (;;) {
		if (!q.is_named) {
			(void)prctl(PR_SET_NAME, q.name, 0, 0, 0);
			q.is_named = true;
			(void)pthread_cond_signal(&q.named);
		}
		now = now_ns();
		if (now >= next || next - now > look_ns()) { /* or the budget is less now */
			timer_wind();
			if (quota_counts_cpu())
				cpu_look();
			next = now + look_ns();
		}
		until = (struct timespec){.tv_sec = (time_t)(next / SECOND_NS),
					  .tv_nsec = (long)(next % SECOND_NS)};
		if (q.is_named)
			(void)pthread_cond_timedwait(&q.changed, &q.lock, &until);
	}
	return NULL;
}

/* All signals are other threads' to take. */
static int thread_begin(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int sys;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	sys = pthread_attr_init(&attr);
	if (!sys) {
		(void)pthread_attr_setstacksize(&attr, THREAD_ROOM);
		(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		sys = pthread_create(&thread, &attr, quota_run, NULL);
		(void)pthread_attr_destroy(&attr);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return sys;
}

struct err *quota_begin(const struct quota quotas[QUOTA_NKINDS], const char *who, const char *path)
{
	struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	pthread_condattr_t attr;
	struct others o = {0};
	bool is_good = false;
	struct err *e;
	int sys;

	memcpy(q.of, quotas, sizeof(q.of));
	(void)snprintf(q.who, sizeof(q.who), "%s", who);
	(void)snprintf(q.path, sizeof(q.path), "%s", path);
	if (timer_create(CLOCK_MONOTONIC, &kill, &q.timer) != 0)
		return err_hint(err_sys(errno, "there is no timer for the quotas of a session"),
				"a limit may be too low: ulimit -i");
	q.over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q.over_fd < 0)
		return err_sys(errno, "there is no descriptor for the quotas of a session");
	timer_wind();
	/* threads and processes that begin later have its name: the user chose that of the file */
	(void)prctl(PR_SET_NAME, "dtrace", 0, 0, 0);
	cpu_budget_begin(&q.budget, cpus_possible(), now_ns());
	(void)pthread_mutex_lock(&q.lock);
	q.is_on = true;
	sys = pthread_condattr_init(&attr);
	if (!sys) {
		(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		sys = pthread_cond_init(&q.changed, &attr);
		(void)pthread_condattr_destroy(&attr);
	}
	if (!sys)
		sys = thread_begin();
	e = sys ? err_sys(sys, "there is no thread for the quotas of a session")
		: session_admit(&o, &is_good);
	q.nothers = o.sessions;
	q.scanned_at = now_ns();
	/* while the session waited to be one, others were */
	cpu_budget_restart(&q.budget, q.scanned_at);
	(void)pthread_mutex_unlock(&q.lock);
	if (!e && !is_good)
		e = spent_err(QUOTA_SESSIONS, &o, o.admitted + o.older);
	return e;
}

struct err *quota_check(void)
{
	if (!q.is_on || !atomic_load(&q.is_over) || atomic_exchange(&q.is_told, true))
		return NULL;
	return err_hint(err_new("%s", q.over), "%s", CPU_REMEDY);
}
