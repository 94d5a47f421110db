/* SPDX-License-Identifier: MIT */
/*
 * What followed processes do is told to subscribers, in order; who waits, waits until all are told;
 * an event about a process that has ended is never taken for one about another process.
 */
#include "tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/str.h"
#include "keeper/keeper.h"
#include "kernel/kernel.h"
#include "files/gate.h"
#include "sym/sym.h"
#include "watch/watch.h"

static const char *const libraries[] = {"libutil.so.1", "libBrokenLocale.so.1", "libanl.so.1",
					"libnss_hesiod.so.2"};

static struct keeper *keeper;
static struct strbuf told;
static bool over;
static int report_fd = -1; /* of the process: readable when it has gone on */
static bool went_on, may_go_on;

/* ---- hooks, and a subscriber that writes down ------------------------------------------------ */

static void on_notice(void *ctx, const char *msg)
{
	strbuf_addf(&told, "notice: %s; ", msg);
}

static struct err *get_keeper(void *ctx, struct keeper **ret)
{
	struct err *e = keeper ? NULL : keeper_create(false, &keeper);

	*ret = keeper;
	return e;
}

static bool is_over(void *ctx)
{
	return over;
}

static struct watch_hooks hooks = {NULL, on_notice, get_keeper, is_over, NULL};

static bool is_readable_within(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&p, 1, ms) == 1;
}

static bool is_readable(int fd)
{
	return is_readable_within(fd, 0);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Only the libraries that the test opens: others depend on the machine. */
static bool is_ours(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
		if (strcmp(base_name(path), libraries[i]) == 0)
			return true;
	return false;
}

static uint64_t library_ino;

static void on_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	if (!is_ours(m->path))
		return;
	library_ino = m->ino;
	strbuf_adds(&told, "mapped; ");
}

static void on_unmapped(void *ctx, const struct watch_subject *s, uint64_t dev, uint64_t ino)
{
	if (ino == library_ino)
		strbuf_adds(&told, "unmapped; ");
}

static uint64_t execed_at, reported_at;

static void on_execed(void *ctx, const struct watch_subject *s)
{
	execed_at = s->time;
	strbuf_adds(&told, s->is_other_task ? "executes by another thread; " : "executes; ");
}

static void on_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	bool is_child = watch_root(s->proc)->pid == (pid_t)parent &&
			watch_id(s->proc)->pid == (pid_t)s->pid && s->pid != parent;

	strbuf_adds(&told, is_child ? "forked; " : "forked by whom?; ");
}

static void on_ended(void *ctx, const struct watch_subject *s)
{
	strbuf_adds(&told, "ended; ");
}

/* Whoever is stopped when it is told has not gone on before the last subscriber returns. */
static void on_settled(void *ctx, const struct watch_subject *s)
{
	reported_at = s->time;
	went_on = is_readable_within(report_fd, may_go_on ? 20000 : 20);
	strbuf_adds(&told, "reported; ");
}

static const struct watch_subscriber writer = {
	.name = "writer",
	.scope = WATCH_FOLLOWED,
	.mapped = on_mapped,
	.unmapped = on_unmapped,
	.execed = on_execed,
	.forked = on_forked,
	.ended = on_ended,
	.reported = on_settled,
};

static void on_record(void *ctx, const struct watch_subject *s)
{
	strbuf_adds(&told, "a record?; ");
}

static const struct watch_subscriber of_all = {.name = "all",
					       .scope = WATCH_ALL,
					       .execed = on_record,
					       .ended = on_record};

/* ---- a process ------------------------------------------------------------------------------- */

struct target {
	pid_t pid;
	struct proc_id id;
	int in, out;
};

/* Executes this program again, by a thread that is not the first; it answers for itself. */
static void *execute(void *fds)
{
	const int *fd = fds;

	(void)dup2(fd[0], 0);
	(void)dup2(fd[1], 1);
	(void)execl("/proc/self/exe", "watch", "live", NULL);
	return NULL;
}

/* Reads a byte, does what it says, answers with a byte. */
static void target_live(int in, int out)
{
	pthread_t thread;
	void *lib = NULL;
	char c;
	pid_t child;

	while (read(in, &c, 1) == 1) {
		if (c == 'o')
			for (size_t i = 0; i < ARRAY_LEN(libraries) && !lib; i++)
				if (!dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD))
					lib = dlopen(libraries[i], RTLD_NOW);
		if (c == 'c' && lib) {
			(void)dlclose(lib);
			lib = NULL;
		}
		if (c == 'x')
			(void)execl("/bin/true", "true", NULL);
		if (c == 't' && pthread_create(&thread, NULL, execute, (int[]){in, out}) == 0)
			(void)pthread_join(thread, NULL);
		if (c == 'f') {
			child = fork();
			if (child == 0)
				_exit(0);
			(void)waitpid(child, NULL, 0);
		}
		(void)!write(out, &c, 1);
	}
	_exit(0);
}

static void target_start(struct target *t)
{
	int in[2], out[2];
	struct err *e;

	*t = (struct target){.pid = -1};
	if (pipe(in) != 0 || pipe(out) != 0)
		return;
	t->pid = fork();
	if (t->pid == 0) {
		(void)close(in[1]);
		(void)close(out[0]);
		target_live(in[0], out[1]);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	t->in = in[1];
	t->out = out[0];
	e = proc_id_open(t->pid, &t->id);
	ok(!e, "a process begins");
	err_destroy(e);
}

static void target_end(struct target *t)
{
	int status;

	(void)close(t->in);
	(void)close(t->out);
	(void)waitpid(t->pid, &status, 0);
	proc_id_close(&t->id);
}

/* Attends to events until the target has answered and that was told, or the time is up. */
static void attend(struct watch *w, int fd, const struct target *t, const char *want, uint64_t ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t until = now_ns() + ms * 1000000;
	bool has_answered = false;
	char c;

	while (now_ns() < until) {
		(void)poll(&p, 1, 20);
		watch_work(w);
		if (is_readable(t->out))
			has_answered |= read(t->out, &c, 1) >= 0;
		if (has_answered && strcmp(strbuf_text(&told), want) == 0)
			break;
	}
}

static void expect(struct watch *w, int fd, const struct target *t, char what, const char *want)
{
	strbuf_clear(&told);
	went_on = false;
	report_fd = t->out;
	(void)!write(t->in, &what, 1);
	attend(w, fd, t, want, 60000 * (uint64_t)tap_patience());
	is_str(strbuf_text(&told), want, want);
}

static struct watch *watch_begin(struct target *t, uint32_t flags, bool has_children, int *ret_fd)
{
	struct watch *w = watch_create(&hooks);
	struct err *e;

	over = false;
	watch_subscribe(w, &writer, NULL);
	watch_subscribe(w, &of_all, NULL);
	e = watch_following(w,
			    &(struct watch_following){.max = 2,
						      .has_children = has_children,
						      .wants_libraries = true},
			    ret_fd);
	if (!e)
		e = watch_follow(w, &t->id, flags);
	ok(!e, "it is followed%s%s", e ? ": " : "", e ? err_text(e) : "");
	err_destroy(e);
	return w;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_events(uint32_t flags)
{
	struct target t;
	struct watch *w;
	int fd = -1;

	target_start(&t);
	w = watch_begin(&t, flags, false, &fd);
	may_go_on = !(flags & WATCH_STOPS);
	expect(w, fd, &t, 'o', "mapped; reported; ");
	may_go_on = false;
	ok(went_on == !(flags & WATCH_STOPS), "it %s", went_on ? "has run on" : "waits");
	expect(w, fd, &t, 'c', "unmapped; reported; ");
	expect(w, fd, &t, 'o', "mapped; reported; ");
	if (flags & WATCH_STOPS)
		expect(w, fd, &t, 'x', "executes; reported; reported; ended; ");
	target_end(&t);
	watch_destroy(w);
}

/* The links of the old task fire on, but each event is told once: it runs on once. */
static void test_other_thread(void)
{
	struct target t;
	struct watch *w;
	int fd = -1;

	target_start(&t);
	w = watch_begin(&t, WATCH_STOPS, false, &fd);
	expect(w, fd, &t, 't',
	       feat_has(FEAT_UPROBE_TGID) || !feat_has(FEAT_UPROBE_MULTI)
		       ? "executes by another thread; reported; reported; "
		       : "executes; reported; reported; ");
	expect(w, fd, &t, 'o', "mapped; reported; ");
	expect(w, fd, &t, 'c', "unmapped; reported; ");
	target_end(&t);
	watch_destroy(w);
}

/* An exec of a process that does not wait has the time when it happened, not when it is told. */
static void test_time(void)
{
	const uint64_t before = now_ns();
	uint64_t answered;
	struct target t;
	struct watch *w;
	int fd = -1;
	char c = 0;

	target_start(&t);
	w = watch_begin(&t, 0, false, &fd);
	(void)!write(t.in, "t", 1);
	ok(read(t.out, &c, 1) == 1 && c == 't', "the program that it has executed runs");
	answered = now_ns();
	execed_at = 0;
	watch_work(w);
	ok(execed_at > before && execed_at < answered, "and had not begun before it was executed");
	target_end(&t);
	watch_destroy(w);
}

/* ---- processes that need not wait ------------------------------------------------------------ */

/* Opens or closes a library; fewer than RT_WATCH_STOPS_MAX of these stop it. */
static char library_next(void)
{
	static bool is_open;

	is_open = !is_open;
	return is_open ? 'o' : 'c';
}

/*
 * It runs on when nobody has read its event for a tenth of a second: not when an event before it
 * was unread for the rest of that time.
 */
static void test_nearly(struct watch *w, const struct target *t, int fd)
{
	int nearly = 0;
	uint64_t seen;
	bool has_gone;
	char c;

	for (int i = 0; i < 6; i++) {
		c = library_next();
		(void)!write(t->in, &c, 1);
		if (!is_readable_within(fd, 60000 * tap_patience()))
			break;
		(void)usleep(60000);
		has_gone = is_readable(t->out);
		seen = now_ns();
		reported_at = 0;
		watch_work(w);
		nearly += has_gone && reported_at && seen - reported_at < 100000000;
		ok(read(t->out, &c, 1) == 1, "it runs on with library %d", i);
	}
	is_int(nearly, 0, "and never sooner than a tenth of a second after its event");
}

static void test_unread(struct watch *w, const struct target *t)
{
	char c = library_next();

	(void)!write(t->in, &c, 1);
	ok(read(t->out, &c, 1) == 1, "it runs on, though nobody has read its event");
	watch_work(w);
}

/* Takes a CPU from all that may run only there, as a machine does that has much to do. */
static void cpu_take(int cpu, int start_fd, uint64_t ns)
{
	const struct sched_param param = {.sched_priority = 1};
	cpu_set_t set;
	uint64_t until;
	char c = 'r';

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &param))
		c = 'n';
	if (write(start_fd, &c, 1) != 1 || c == 'n' || read(start_fd, &c, 1) != 1)
		_exit(0);
	for (until = now_ns() + ns; now_ns() < until;)
		;
	_exit(0);
}

struct taker {
	pid_t pid;
	int fd; /* a byte begins it */
};

static void taker_end(const struct taker *r)
{
	(void)close(r->fd);
	(void)waitpid(r->pid, NULL, 0);
}

/* Returns false if that cannot be done here. */
static bool taker_start(struct taker *r, int cpu, uint64_t ns)
{
	int fds[2];
	char c = 'n';

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return false;
	r->pid = fork();
	if (r->pid == 0) {
		(void)close(fds[0]);
		cpu_take(cpu, fds[1], ns);
	}
	(void)close(fds[1]);
	r->fd = fds[0];
	if (read(r->fd, &c, 1) == 1 && c == 'r')
		return true;
	taker_end(r);
	return false;
}

#define TAKEN_NS  400000000ull
#define JUDGED_NS 900000000ull /* less than the keeper waits for a tracer without a CPU */

/* The event is there, and this thread has no CPU to read it. Returns false if it took too long. */
static bool is_starved(struct watch *w, const struct target *t, int fd, int cpu,
		       const cpu_set_t *all)
{
	struct taker taker;
	bool has_gone, is_judged;
	char c = library_next();
	cpu_set_t one;
	uint64_t seen;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (!taker_start(&taker, cpu, TAKEN_NS))
		return false;
	(void)!write(t->in, &c, 1);
	ok(is_readable_within(fd, 60000 * tap_patience()), "it has an event");
	(void)sched_setaffinity(0, sizeof(one), &one);
	(void)!write(taker.fd, &c, 1); /* from here on it has the CPU */
	has_gone = is_readable(t->out);
	seen = now_ns();
	(void)sched_setaffinity(0, sizeof(*all), all);
	reported_at = 0;
	watch_work(w);
	is_judged =
		reported_at && seen - reported_at > TAKEN_NS / 2 && seen - reported_at < JUDGED_NS;
	if (is_judged)
		ok(!has_gone, "its tracer had no CPU for %d ms: it waits",
		   (int)((seen - reported_at) / 1000000));
	ok(read(t->out, &c, 1) == 1, "it runs on when its event is attended to");
	taker_end(&taker);
	return is_judged;
}

/* It waits longer for a tracer that only waits for a CPU. */
static void test_starved(struct watch *w, const struct target *t, int fd)
{
	struct taker taker;
	cpu_set_t all;
	int cpu = 0;
	bool is_judged = false;

	(void)sched_getaffinity(0, sizeof(all), &all);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &all))
		cpu++;
	if (CPU_COUNT(&all) < 2 || !taker_start(&taker, cpu, 0)) {
		printf("# no second CPU, or no real-time priority: this is not tried\n");
		return;
	}
	taker_end(&taker);
	for (int i = 0; i < 8 && !is_judged; i++)
		is_judged = is_starved(w, t, fd, cpu, &all);
	if (!is_judged)
		printf("# this machine is too busy to say whether it has waited\n");
}

/* One watch: the keeper knows the events of one. */
static void test_spared(void)
{
	struct target t;
	struct watch *w;
	int fd = -1;

	target_start(&t);
	w = watch_begin(&t, WATCH_STOPS | WATCH_OUTLIVES | WATCH_SPARED, false, &fd);
	report_fd = -1;
	test_nearly(w, &t, fd);
	test_unread(w, &t);
	test_starved(w, &t, fd);
	target_end(&t);
	watch_destroy(w);
}

/* ---- relatives and ends ---------------------------------------------------------------------- */

static void test_children(void)
{
	struct target t;
	struct watch *w;
	int fd = -1;

	if (!feat_has(FEAT_UPROBE_TGID))
		return;
	target_start(&t);
	w = watch_begin(&t, WATCH_STOPS | WATCH_OUTLIVES, true, &fd);
	expect(w, fd, &t, 'f', "forked; reported; ended; ");
	target_end(&t);
	watch_destroy(w);
}

/* Tracing is over: nobody is told, and it runs on although our programs stop it. */
static void test_over(void)
{
	struct target t;
	struct watch *w;
	int fd = -1, status = -1;
	uint64_t until;

	target_start(&t);
	w = watch_begin(&t, WATCH_STOPS, false, &fd);
	over = true;
	strbuf_clear(&told);
	(void)!write(t.in, "oc", 2);
	attend(w, fd, &t, "never", 4000);
	is_str(strbuf_text(&told), "", "nobody is told when tracing is over");
	(void)!write(t.in, "x", 1);
	until = now_ns() + 20000000000;
	while (waitpid(t.pid, &status, WNOHANG) == 0 && now_ns() < until) {
		watch_work(w);
		(void)usleep(10000);
	}
	is_int(status, 0, "it runs on to its end");
	target_end(&t);
	watch_destroy(w);
}

/* The identity of another process that had the same process id. */
static void test_identity(void)
{
	struct target t;
	struct watch *w;
	struct proc_id other;
	struct err *e;
	int fd = -1, status = 0;

	target_start(&t);
	other = t.id;
	other.start--; /* it began before: it has ended, and left its process id */
	w = watch_create(&hooks);
	watch_subscribe(w, &writer, NULL);
	over = false;
	strbuf_clear(&told);
	e = watch_following(w, &(struct watch_following){.max = 2, .wants_libraries = true}, &fd);
	if (!e)
		e = watch_follow(w, &other, WATCH_STOPS);
	ok(!e, "another process is followed that had its process id");
	err_destroy(e);
	(void)!write(t.in, "ox", 2);
	ok(waitpid(t.pid, &status, WUNTRACED) == t.pid && WIFEXITED(status), "it is not stopped");
	watch_work(w);
	is_str(strbuf_text(&told), "ended; ", "and nothing that it does is told");
	target_end(&t);
	watch_destroy(w);
}

/* Stopped, with events that nobody has read: it runs on when the watch is destroyed. */
static void test_left(void)
{
	struct target t;
	struct watch *w;
	int fd = -1, status = 0;

	target_start(&t);
	w = watch_begin(&t, WATCH_STOPS | WATCH_OUTLIVES, false, &fd);
	(void)!write(t.in, "ox", 2);
	ok(waitpid(t.pid, &status, WUNTRACED) == t.pid && WIFSTOPPED(status), "it waits");
	watch_destroy(w);
	ok(waitpid(t.pid, &status, 0) == t.pid && WIFEXITED(status),
	   "it runs on without the watch");
	target_end(&t);
}

int main(int argc, char **argv)
{
	if (argc > 1) { /* of execute() */
		(void)!write(1, "t", 1);
		target_live(0, 1);
	}
	hooks.gate = gate_create();
	test_events(0);
	test_events(WATCH_STOPS);
	test_other_thread();
	test_time();
	test_spared();
	test_children();
	test_over();
	test_identity();
	test_left();
	gate_destroy(hooks.gate);
	keeper_destroy(keeper);
	strbuf_deinit(&told);
	return tap_done();
}
