/* SPDX-License-Identifier: MIT */
/*
 * fathom-crash-capture: what the kernel starts when a process crashes, or a server that it connects
 * to. The arguments, and the order in which a process is captured.
 *
 *     fathom-crash-capture [config=FILE] pipe %P %I %s %t %d %c %u %g %F
 *     fathom-crash-capture [config=FILE] socket [PATH]
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cmd/capture/capture.h"

#define SECONDS	   30
#define SLOW_PAGES (1u << 18) /* a process with 1 GB of memory has no summary of it */
#define FEW_BYTES  (1u << 20)

static struct config config;
static struct process process;
static struct head head;
static struct store store = {.dir = -1, .lock = -1};
static struct entry entry = {.dir = -1, .proc = -1};
static struct plan plan;
static u64 begin_ns;
static int container = -1; /* the root directory of the process, if it was in one */

/* Ends us in bounded time, whatever holds us; the kernel's end is closed by that. */
static void alarm_ring(int signal_number)
{
	static const char line[] = "<3>fathom-crash-capture: a capture took too long\n";
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && write(fd, line, sizeof(line) - 1) < 0)
		_exit(1);
	_exit(1);
}

static void environment_set(void)
{
	struct sigaction ring = {.sa_handler = alarm_ring};

	umask(077);
	if (chdir("/") < 0)
		_exit(1);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGALRM, &ring, NULL);
	for (int fd = 0; fd < 3;) /* no file that we open becomes one of them */
		if (fcntl(fd, F_GETFD) >= 0 || open("/dev/null", O_RDWR) < 0)
			fd++;
}

/*
 * Memory and /proc of others, files that only their owner can read, signals to our own children.
 * Programs that we start have root's again: they are root's own.
 */
static void rights_drop(void)
{
	struct cap_left {
		struct __user_cap_header_struct header;
		struct __user_cap_data_struct data[2];
	} c = {.header.version = _LINUX_CAPABILITY_VERSION_3};

	c.data[0].effective = c.data[0].permitted =
		1u << CAP_SYS_PTRACE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_KILL;
	if (syscall(SYS_capset, &c.header, c.data) < 0)
		say("cannot drop capabilities: %s", strerror(errno));
}

/* ---- arguments */

static u64 number_of(const char *text, u64 unknown)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text ? text : "", &end, 10);
	return !text || errno || end == text || *end || *text == '-' ? unknown : n;
}

/* The words behind "pipe". Kernels leave out those that they do not know. */
static void arguments_take(struct process *p, char **word, int n)
{
	const char *w[9] = {0};
	u64 fd;

	for (int i = 0; i < MIN(n, 9); i++)
		w[i] = word[i];
	p->pid = (u32)number_of(w[0], 0);
	p->tid = (u32)number_of(w[1], p->pid);
	p->signal = (int)number_of(w[2], 0);
	p->dumpable = (int)number_of(w[4], (u64)-1);
	p->core_limit = number_of(w[5], UNKNOWN_LIMIT);
	p->uid = (u32)number_of(w[6], ~0u);
	p->gid = (u32)number_of(w[7], ~0u);
	fd = number_of(w[8], 0);
	if (fd > 2 && fd < 1024 && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0) {
		p->pidfd = (int)fd;
		p->way = WAY_PIDFD;
	}
}

/* ---- a capture */

/* Says why there is none, lets the process go, or hands it to the former program. */
static int capture_give_up(const char *why)
{
	if (why)
		say("process %u, signal %d: %s", process.pid, process.signal, why);
	if (process.in < 0)
		; /* it is gone */
	else if (head.len)
		chain_start(&config, &process, &head);
	else
		chain_become(&config, &process);
	process_release(&process);
	if (entry.id[0])
		entry_remove(&entry, &store);
	return why != NULL;
}

static u64 resident_pages(void)
{
	char text[128], *at;

	if (proc_read(process.dir, "statm", text, sizeof(text)) <= 0)
		return ~0ull;
	strtoull(text, &at, 10);
	return strtoull(at, NULL, 10);
}

/* Copies files of /proc and memory, while the process stands still. */
static void process_copy(struct facts *f, int core, int *ret_log)
{
	u64 until = begin_ns + config.max_wait_ns;

	process_describe(&process);
	proc_copy(&process, &head, entry.proc, config.keep == KEEP_FULL);
	if (head.notes_len && core >= 0) {
		build_id_find(&head, &process);
		plan_make(&plan, &process, &head, config.keep, MIN(config.max_bytes, store.room),
			  until);
		core_copy(&f->copied, &plan, &process, &head, core, until);
		f->kept = plan.kept;
		f->has_core = true;
		f->cut = f->copied.cut ? f->copied.cut : plan.cut ? plan.cut : head.cut;
	}
	if (time_mono() < begin_ns + config.max_wait_ns / 2 && resident_pages() < SLOW_PAGES)
		proc_copy_slow(&process, entry.proc);
	if (config.into_container && process.dumpable == 1)
		container = process_container(&process);
	*ret_log = log_open(&process, &f->log_is_readable);
	if (!process_holds(&process)) {
		/* From here on its pid may be another's, and so may what was read by it. */
		f->has_core = false;
		if (container >= 0)
			close(container);
		container = -1;
		f->cut = "the process did not wait: its core ended before its memory was copied";
	}
}

/* Writes the rest of the entry, when the process was let go. */
static const char *entry_write(struct facts *f, int core, int log)
{
	const char *why = f->has_core ? core_head(&plan, &head, core) : NULL;

	if (why || !f->has_core) {
		f->has_core = false;
		f->cut = why ? why : f->cut;
		unlinkat(entry.dir, CRASH_FILE_CORE, 0);
	} else if (fsync(core) < 0) {
		return fault("cannot write the core: %s", strerror(errno));
	}
	why = facts_write(f, entry.dir);
	if (why)
		return fault("cannot write the capture: %s", why);
	log_copy(log, entry.dir);
	return entry_finish(&entry, &store);
}

/* The first part: who it is, and whether it is captured; false: *ret_why, or it was counted. */
static bool capture_begin(const char **ret_why)
{
	bool captures = false;

	*ret_why = store_open(&store, config.store);
	if (*ret_why)
		return false;
	rights_drop();
	*ret_why = process_open(&process);
	if (*ret_why) {
		if (process.way == WAY_SOCKET) /* it can be another program that has connected */
			process_release(&process);
		return false;
	}
	process_origin(&process);
	*ret_why = store_count(&store, &config, &process, &captures);
	if (*ret_why)
		say("%s", *ret_why);
	*ret_why = NULL;
	if (store.room < FEW_BYTES) {
		*ret_why = "the store's disk is nearly full: the crash is only counted";
		return false;
	}
	if (captures && !store_slot(&store, begin_ns + config.max_wait_ns)) {
		*ret_why = "too many captures at once: it is only counted";
		return false;
	}
	return captures;
}

static int capture_run(void)
{
	struct facts f = {.config = &config, .process = &process, .head = &head};
	const char *why, *head_why;
	int core, log = -1;
	bool captures;

	captures = capture_begin(&why);
	if (process.way == WAY_SOCKET && process.in >= 0) {
		const char *refused = listen_answer(&process, captures || config.chain[0]);

		if (refused) {
			process_release(&process);
			return capture_give_up(why ? why : refused);
		}
	}
	if (!captures)
		return capture_give_up(why);
	head_why = head_read(&head, process.in);
	if (process.way == WAY_SOCKET && !head_why) {
		thread_find(&process, head.ns_tid);
		process.signal = head.signal;
		if (!process.exe_len && !process_open(&process))
			process_origin(&process);
	}
	why = entry_create(&entry, &store, process.pid);
	if (why)
		return capture_give_up(why);
	core = file_create(entry.dir, CRASH_FILE_CORE);
	f.id = entry.id + 1; /* without the dot */
	f.cut = head_why;
	if (core < 0)
		f.cut = fault("cannot make the core file: %s", strerror(errno));
	process_copy(&f, core, &log);
	f.waited_ns = time_mono() - begin_ns;
	if (config.chain[0])
		chain_start(&config, &process, &head);
	process_release(&process);
	alarm(SECONDS);
	why = entry_write(&f, core, log);
	if (why)
		return capture_give_up(why);
	store_count_id(&store, &process, entry.id);
	analyser_start(&config, &entry, container);
	return 0;
}

static int usage_write(void)
{
	static const char text[] =
		"usage: fathom-crash-capture [config=FILE] pipe %P %I %s %t %d "
		"%c %u %g %F\n"
		"       fathom-crash-capture [config=FILE] socket [PATH]\n"
		"The kernel starts it: 'fathom-crash install' writes core_pattern.\n";

	write_all(2, text, sizeof(text) - 1);
	return 2;
}

int main(int argc, char **argv)
{
	const char *path = CRASH_CONFIG, *why;

	begin_ns = time_mono();
	process = (struct process){.in = 0, .pidfd = -1, .dir = -1, .euid = ~0u, .egid = ~0u};
	if (argc > 1 && strncmp(argv[1], "config=", 7) == 0) {
		path = argv[1] + 7;
		argv++;
		argc--;
	}
	if (argc < 2)
		return usage_write();
	environment_set();
	why = config_read(&config, path);
	if (why)
		say("%s", why);
	if (strcmp(argv[1], "pipe") == 0 && argc > 2) {
		alarm(SECONDS);
		arguments_take(&process, argv + 2, argc - 2);
		return capture_run();
	}
	if (strcmp(argv[1], "socket") != 0)
		return usage_write();
	process.way = WAY_SOCKET;
	process.uid = process.gid = ~0u;
	process.dumpable = -1;
	process.core_limit = UNKNOWN_LIMIT;
	process.in = -1;
	why = listen_serve(&process, argc > 2 ? argv[2] : NULL);
	begin_ns = time_mono();
	if (!why)
		return capture_run();
	say("%s", why);
	return 1;
}
