/* SPDX-License-Identifier: MIT */
/*
 * fathom-crash-capture: copies what can be asked of a process that is dying into the store, while
 * the kernel writes its core file to us, and lets it go.
 *
 * The kernel blocks the process in the write of its core until we have read that or closed our end.
 * So we read its head only (ELF header, program headers, notes: the registers are nowhere else) and
 * leave the rest: the process stands still, complete, as long as we need it. Then:
 *   main.c     arguments, the order of the steps
 *   config.c   the configuration file
 *   store.c    the store, the entry, crash loops, room on the disk
 *   process.c  who has crashed: identity, ids
 *   proc.c     copies of files of /proc
 *   head.c     the head of the core
 *   plan.c     which memory is copied; chase.c: what stacks point to
 *   core.c     the copy of the memory, the core file
 *   chain.c    the former program, the analyser
 *   facts.c    the file "capture" of the entry
 *   listen.c   the socket that the kernel connects to, in place of the pipe
 *   text.c     text that is written to files and to the log
 *
 * Memory   all tables have fixed sizes, and nothing is allocated. What does not fit is left out,
 *          and the key "cut" says so.
 * Input    everything but the arguments and the configuration is chosen by the process.
 * Rights   root without capabilities but those of struct cap_left in main.c. Nothing is opened
 *          through names that the process chose, and nothing written but below the store.
 * Errors   a function that can fail returns NULL, or what went wrong: text that is valid until the
 *          next one.
 * Facts    core(5); the kernel's headers coredump.h, pidfd.h and fs.h, whose newer parts are
 *          repeated here: distributions that we build on have older ones.
 */
#pragma once

#include "base/base.h"
#include "base/ints.h"
#include "crash/format.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

/* ---- text.c */
#define OUT_SIZE (32 << 10)

/* A file that is written, or with fd -1 a text in memory that ends where it is full. */
struct out {
	int fd;
	size_t len;
	u64 written; /* bytes that are no longer in data */
	int failed;  /* errno of the first write that failed */
	char data[OUT_SIZE];
};

void out_init(struct out *o, int fd);
void out_bytes(struct out *o, const void *data, size_t len);
void out_printf(struct out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Adds foreign text as crash/format.h says. */
void out_escaped(struct out *o, const char *text, size_t len);
void out_flush(struct out *o);
/* Writes all of it, in spite of interruptions; 0 or an errno. */
int write_all(int fd, const void *data, size_t len);

/* Formats the text of an error into a static buffer, and returns it. */
const char *fault(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* One line for the administrator: the system's log, or the kernel's if there is none. */
void say(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Nanoseconds of CLOCK_MONOTONIC and CLOCK_REALTIME. */
u64 time_mono(void);
u64 time_real(void);

/* ---- config.c */
enum keep { KEEP_NO, KEEP_STACKS, KEEP_HEAP, KEEP_FULL };
extern const char *const keep_names[];

struct config {
	enum keep keep;
	bool into_container; /* the core is written there, too, by the analyser */
	u64 max_wait_ns, max_bytes;
	u32 captures, window_s;
	char chain[1024], analyser[256], store[256];
	const char *path; /* from where it was read */
};

/* Without that file the defaults hold; one that others could have written is not read. */
const char *config_read(struct config *c, const char *path);

/* ---- process.c */
enum way { WAY_PIPE, WAY_PIDFD, WAY_SOCKET };
extern const char *const way_names[];

/* Who has crashed. -1 or ~0: not known. */
#define UNKNOWN_LIMIT (~1ull)
struct process {
	enum way way;
	int in;	      /* the kernel's core: a pipe or a socket; -1: let go */
	int pidfd;    /* or -1 */
	int dir;      /* /proc/PID; of the crashed thread if the first one has ended */
	u32 pid, tid; /* in the initial namespace */
	u32 mm_pid;   /* pid or tid: who has the memory */
	int dumpable, signal;
	u64 core_limit;
	u32 uid, gid, euid, egid, ns_pid, ns_tid;
	u64 start_ticks;
	u64 exe_dev, exe_ino;
	size_t exe_len, comm_len, cwd_len, cgroup_len;
	char exe[4096], cwd[4096], comm[64];
	char cgroup[4096]; /* the file, as far as it fits */
};

/* Opens /proc/PID and makes sure that it is the process that the kernel is dumping. */
const char *process_open(struct process *p);
/* Whether it still is: its core has not ended. What was read until here is of this process. */
bool process_holds(const struct process *p);
/* The number of a process or thread in the innermost namespace, from a status file, or 0. */
#define NS_TGID "\nNStgid:"
#define NS_PID	"\nNSpid:"
u32 ns_pid_read(int dir, const char *name, const char *key);
/* Fills in what identifies the executable and the cgroup: two files. */
void process_origin(struct process *p);
/* Fills in the ids, the names and the start time of the process. */
void process_describe(struct process *p);
/* The path of the cgroup that says most, and an id of a container in it; false: none. */
bool cgroup_path(const struct process *p, const char **ret_path, size_t *ret_len);
bool cgroup_container(const char *path, size_t len, const char **ret_id, size_t *ret_len);
/* The root directory of a process in another namespace of processes, O_PATH; -1: it is in ours. */
int process_container(const struct process *p);
/* Closes the kernel's end: the process ends now. */
void process_release(struct process *p);
/* Reads a small file of a folder of /proc; returns its length, with a NUL behind it, or -1. */
ssize_t proc_read(int dir, const char *name, char *buf, size_t size);

/* ---- head.c */
struct segment {
	u64 start, end; /* addresses */
	u64 dumped; /* bytes from the start that may be copied: those that the kernel would write */
	u32 flags;  /* PF_* */
	bool is_head; /* only its first page is dumped: the header of an ELF file */
	bool is_shared, has_file, is_stack; /* from maps */
};

#define HEAD_SIZE    (64u << 20)
#define SEGMENTS_MAX 131072

struct head {
	size_t len; /* bytes that were read, to be played to others */
	bool is_elf, is_64;
	const u8 *notes;
	size_t notes_len;
	u32 nsegments, threads;
	u32 ns_tid; /* of the crashed thread, in its own namespace */
	int code, signal;
	bool has_addr;
	u64 fault_addr;
	u64 auxv_phdr, auxv_phnum, vdso;
	u8 build_id[64];
	size_t build_id_len;
	const char *cut; /* why not all of it was read; NULL: it was */
};

extern u8 head_bytes[HEAD_SIZE];
extern struct segment segments[SEGMENTS_MAX];

/* Reads it. On a fault, head->len bytes of no core were read. */
const char *head_read(struct head *h, int fd);
/* Calls for each word of the registers of the first max threads; the crashed one is 0. */
void head_words(const struct head *h, u32 max, void (*take)(u32 thread, u64 word));
/* The segment that contains addr, or the first behind it; nsegments: there is none. */
u32 segment_at(const struct head *h, u64 addr);
void build_id_find(struct head *h, const struct process *p);

/* ---- proc.c */
#define THREADS_COPIED 512

struct stack {
	u32 tid;
	u64 sp;
};
extern struct stack stacks[THREADS_COPIED + 1];
extern u32 nstacks;

/* Copies files of /proc to the folder; maps tell segments what they are. */
/* Finds p->tid by the thread's number in its own namespace, where the kernel told no other. */
void thread_find(struct process *p, u32 ns_tid);
void proc_copy(const struct process *p, struct head *h, int folder, bool wants_flags);
void proc_copy_slow(const struct process *p, int folder);
/*
 * The log of descriptor 2, a descriptor of O_PATH or -1, and whether the process's user can read
 * it: a descriptor for writing, or one of O_PATH, can be of a file that only others can.
 */
int log_open(const struct process *p, bool *ret_is_readable);
/* Copies its end, within two seconds. */
void log_copy(int log, int entry);

/* ---- plan.c, chase.c: all addresses are multiples of a page */
#define PAGE	 4096ull
#define RUNS_MAX 65536

struct run {
	u64 start, end;
	u64 offset; /* in the core file */
};
struct runs {
	u32 n;
	bool is_full; /* more were needed */
	struct run *run;
};

struct plan {
	struct runs first; /* what is copied in any case, by address */
	struct runs all;   /* the same and the rest */
	/*
	 * The parts of the core file: runs of all, and between those that are near each other pages
	 * that were never touched.
	 */
	struct runs spans;
	u64 size; /* of the spans */
	enum keep kept;
	const char *cut; /* why less than was asked; NULL: it is all */
};

void plan_make(struct plan *plan, const struct process *p, const struct head *h, enum keep keep,
	       u64 max_bytes, u64 until_ns);
/* Adds the pages of a range that are present and may be copied. */
void plan_add(struct runs *runs, const struct head *h, u64 start, u64 end);
void run_add(struct runs *runs, u64 start, u64 end);
bool page_is_present(u64 addr);
/* The run that contains addr, or the first behind it; runs->n: there is none. */
u32 run_at(const struct runs *runs, u64 addr);
/* Adds the pages that registers and stacks point to, and so on, as far as time and size allow. */
void chase_all(struct runs *runs, const struct process *p, const struct head *h, u64 until_ns);

/* Reads memory of the process; returns the number of bytes from the begin that were read. */
size_t memory_read(const struct process *p, u64 addr, void *buf, size_t len);

/* ---- core.c */
struct copied {
	u64 bytes;
	u64 holes;
	const char *cut;
};
/* Copies the plan's memory into the file. After that the process is not needed. */
void core_copy(struct copied *c, struct plan *plan, const struct process *p, const struct head *h,
	       int fd, u64 until_ns);
/* Writes what stands before the memory. */
const char *core_head(const struct plan *plan, const struct head *h, int fd);

/* ---- facts.c */
struct facts {
	const struct config *config;
	const struct process *process;
	const struct head *head;
	const char *id;
	enum keep kept;
	bool has_core, log_is_readable;
	struct copied copied;
	u64 waited_ns;
	const char *cut;
};
/* Writes the entry's file "capture". */
const char *facts_write(const struct facts *f, int entry);

/* ---- store.c */
struct store {
	int dir, lock;
	u64 room; /* bytes that a capture may take */
};
struct entry {
	int dir, proc;
	char id[CRASH_ID_SIZE];
};

const char *store_open(struct store *s, const char *path);
/* One of the few captures at once; waits for it until then. */
bool store_slot(struct store *s, u64 until_ns);
/* Counts this crash; *ret_captures: it is to be captured, too. */
const char *store_count(struct store *s, const struct config *c, const struct process *p,
			bool *ret_captures);
/* Writes into the count which capture was the last. */
void store_count_id(struct store *s, const struct process *p, const char *id);
const char *entry_create(struct entry *e, struct store *s, u32 pid);
int file_create(int dir, const char *name);
const char *entry_finish(struct entry *e, struct store *s);
void entry_remove(struct entry *e, struct store *s);

/* ---- chain.c */
/* Becomes the former program, which reads the rest of the core; returns if there is none. */
void chain_become(const struct config *c, const struct process *p);
/*
 * Starts the former program and a process that plays the core to it: the head, then the rest. That
 * process holds the dying one from now on; p->in is closed here.
 */
void chain_start(const struct config *c, struct process *p, const struct head *h);
/* Hands the locked entry over to an analyser. container: as process_container() */
void analyser_start(const struct config *c, const struct entry *e, int container);

/* ---- listen.c */
/*
 * Serves the socket, which is descriptor 3 (socket activation) if path is NULL. Returns in a
 * process of its own for each crash, with in and pidfd of p; never in the server.
 */
const char *listen_serve(struct process *p, const char *path);
/*
 * Reads the kernel's request, and lets it write the core, or not; a fault: it is another that has
 * connected, or the kernel will not.
 */
const char *listen_answer(const struct process *p, bool wants_core);
