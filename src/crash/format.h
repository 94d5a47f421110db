/* SPDX-License-Identifier: MIT */
/*
 * What a capture of a crash looks like on disk: names of files and keys, for the capturer that
 * writes it, the analyser that reads it, and the command that lists it.
 *
 * Store    a folder of root's, 0700. An entry is a folder ID, 0700, with files 0600. ID is
 *          YYYYMMDDTHHMMSS-PID-RRRRRR: UTC, the pid in the initial namespace, random hex digits.
 *          While it is written it is named ".ID", and its writer has an flock() on it: who gets
 *          that lock on a ".ID" may remove it. It is renamed when all is written, still locked. The
 *          capturer's analyser inherits the descriptor and so the lock, which an analyser of
 *          "ID" has while it runs.
 * Text     "key=value" lines. In values, and in the fields of proc/fd and proc/task, control
 *          characters (those of C1 too), backslashes and bytes that are no UTF-8 are "\xNN".
 *          Programs choose most of the values: they are shown, never believed. A key that is not
 *          known is left out; a reader ignores keys that it does not know.
 * Core     a core file of the kernel's layout: header, program headers, notes as the kernel wrote
 *          them, memory. What was not copied has a PT_LOAD with p_filesz 0. Pages of anonymous
 *          memory that were never touched are holes of the file.
 * Needs    nothing: the capturer is a static program without the library.
 */
#pragma once

#include <stdint.h>

#define CRASH_FORMAT 1 /* value of CRASH_KEY_FORMAT */

#define CRASH_STORE  "/var/lib/fathom/crash"
#define CRASH_CONFIG "/etc/fathom/crash.conf"

/* ---- files of the store */
#define CRASH_STORE_COUNTS  "counts"  /* folder of struct crash_count, a file for each CRASH_HASH */
#define CRASH_STORE_LOCK    "lock"    /* flock(): who changes the store; bytes 0 to 3: captures */
#define CRASH_STORE_INSTALL "install" /* key=value: what was there before */
#define CRASH_STORE_TALLY   "tally"   /* CRASH_TALLY_NAME, by executable and signal */
#define CRASH_STORE_QUEUE   "queue"   /* posts that are tried again */
#define CRASH_STORE_MAIL    "mail"    /* when the last mail was sent */
#define CRASH_STORE_LATER   "mail-later" /* a line for each crash that had to wait for the next */

#define CRASH_ID_SIZE	       64 /* of a buffer for an ID, with the dot and the NUL */
#define CRASH_CAPTURES_AT_ONCE 4

/* ---- files of an entry */
#define CRASH_FILE_CAPTURE  "capture" /* key=value, CRASH_KEY_* */
#define CRASH_FILE_CORE	    "core"
#define CRASH_FILE_LOG	    "log"	  /* the end of what descriptor 2 is, if a regular file */
#define CRASH_FILE_PROC	    "proc"	  /* folder: CRASH_PROC_FILES, CRASH_PROC_FD, ..._TASK */
#define CRASH_FILE_CORE_ZST "core.zst"	  /* of the analyser, in place of core */
#define CRASH_FILE_REPORT   "report.json" /* of the analyser, as all below */
#define CRASH_FILE_TEXT	    "report.txt"
#define CRASH_FILE_ANALYSED "analysed" /* attempts=N, state=done|failed|timeout, why= */
#define CRASH_FILE_SAME	    "same"     /* count=, last_time_ns=, last_id= */

#define CRASH_LOG_BYTES (64 << 10)

/* Lines of Prometheus, and one that says since when it is counted, in ns since 1970. */
#define CRASH_TALLY_NAME  "fathom_crashes_total"
#define CRASH_TALLY_SINCE "# SINCE "
#define CRASH_TALLY_MAX	  (1 << 20)

/* Copies of files of /proc/PID, under the same names in proc/. */
#define CRASH_PROC_FILES                                                                           \
	"status", "cmdline", "environ", "maps", "limits", "cgroup", "io", "auxv", "mountinfo",     \
		"stat", "oom_score", "uid_map", "smaps_rollup"
/* "N\tTARGET\tPOS\tFLAGS\n" for each descriptor; POS decimal, FLAGS octal, as fdinfo has them */
#define CRASH_PROC_FD "fd"
/*
 * "TID\tSTATE\tCOMM\tSYSCALL\tWCHAN\n" for each thread, the crashed one first; SYSCALL is the line
 * of /proc/PID/task/TID/syscall, WCHAN is empty where the kernel tells none.
 */
#define CRASH_PROC_TASK "task"

/* ---- keys of "capture" */
#define CRASH_KEY_FORMAT	 "format"
#define CRASH_KEY_ID		 "id"
#define CRASH_KEY_PID		 "pid"	       /* in the initial namespace */
#define CRASH_KEY_TID		 "tid"	       /* of the crashed thread, likewise */
#define CRASH_KEY_NS_PID	 "ns_pid"      /* in the innermost namespace */
#define CRASH_KEY_TIME		 "time_ns"     /* CLOCK_REALTIME */
#define CRASH_KEY_START		 "start_ticks" /* field 22 of stat */
#define CRASH_KEY_SIGNAL	 "signal"      /* a number, as the two below */
#define CRASH_KEY_SI_CODE	 "si_code"
#define CRASH_KEY_SI_ADDR	 "si_addr"    /* hex with 0x; only of signals that have one */
#define CRASH_KEY_DUMPABLE	 "dumpable"   /* as the kernel says: 0 1 2; -1 not known */
#define CRASH_KEY_CORE_LIMIT	 "core_limit" /* bytes; 2^64 - 1 is unlimited */
#define CRASH_KEY_UID		 "uid"
#define CRASH_KEY_GID		 "gid"
#define CRASH_KEY_EUID		 "euid"
#define CRASH_KEY_EGID		 "egid"
#define CRASH_KEY_EXE		 "exe"	/* the text of the link */
#define CRASH_KEY_COMM		 "comm" /* of the crashed thread */
#define CRASH_KEY_CWD		 "cwd"
#define CRASH_KEY_CGROUP	 "cgroup"
#define CRASH_KEY_CONTAINER	 "container"	  /* id, if the cgroup's path has one */
#define CRASH_KEY_EXE_BUILD_ID	 "exe_build_id"	  /* hex digits */
#define CRASH_KEY_KEEP		 "keep"		  /* asked: no stacks heap full */
#define CRASH_KEY_KEPT		 "kept"		  /* written: for "no" it is "stacks", too */
#define CRASH_KEY_CUT		 "cut"		  /* why less than was asked, in words */
#define CRASH_KEY_WAY		 "way"		  /* pipe pidfd socket */
#define CRASH_KEY_THREADS	 "threads"	  /* of which there are registers */
#define CRASH_KEY_THREADS_COPIED "threads_copied" /* of which there are stacks */
#define CRASH_KEY_BYTES_COPIED	 "bytes_copied"
#define CRASH_KEY_HOLES		 "holes" /* pages that could not be read */
/* from the capturer's start until the process was let go */
#define CRASH_KEY_WAITED "waited_ns"
/* 1: the process's own user may read what `log` is a copy of, or there is none */
#define CRASH_KEY_LOG_READABLE "log_readable"
/* 1: this crash was only counted. Entries have 0; the counts are in CRASH_STORE_COUNTS. */
#define CRASH_KEY_COUNT_ONLY "count_only"

/*
 * A crash loop: what has happened to one executable in one cgroup. The file is named after
 * CRASH_HASH_FORMAT of a hash of the executable's device and inode and its cgroups. It is changed
 * under an flock() of it, and written with one pwrite(). Host byte order.
 */
#define CRASH_HASH_FORMAT "%016llx"
#define CRASH_COUNT_MAGIC 0x31544e4343485446ull
#define CRASH_COUNT_TIMES 16 /* at most so many captures are configured for a window */

struct crash_count {
	uint64_t magic;			      /* CRASH_COUNT_MAGIC */
	uint64_t times_ns[CRASH_COUNT_TIMES]; /* CLOCK_REALTIME of the newest captures; 0: none */
	uint64_t counted;		      /* crashes only counted since the last capture */
	uint64_t counted_ever;		      /* since there is this file */
	uint64_t counted_ns;		      /* CLOCK_REALTIME of the last of them */
	uint32_t signal, pid;		      /* of the last crash, counted or not */
	char last_id[CRASH_ID_SIZE];	      /* of the last capture, with NUL */
	char exe[256];			      /* the begin of the link's text, escaped, with NUL */
};

/* ---- keys of CRASH_CONFIG */
#define CRASH_CONF_KEEP	    "keep_core"	  /* no stacks heap full; default stacks */
#define CRASH_CONF_MAIL	    "mail"	  /* address */
#define CRASH_CONF_POST	    "post"	  /* URL */
#define CRASH_CONF_CHAIN    "chain"	  /* the former pattern without its '|' */
#define CRASH_CONF_ENV	    "env"	  /* list all; default list */
#define CRASH_CONF_MAX_WAIT "max_wait_ms" /* default CRASH_MAX_WAIT_MS */
#define CRASH_CONF_MAX	    "max_bytes"	  /* default CRASH_MAX_BYTES */
#define CRASH_CONF_CAPTURES "captures" /* default CRASH_CAPTURES; 0: each crash is only counted */
#define CRASH_CONF_WINDOW   "window_s" /* default CRASH_WINDOW_S */
#define CRASH_CONF_ANALYSER "analyser" /* path of fathom-crash; empty: none is started */
#define CRASH_CONF_STORE    "store"
#define CRASH_CONF_INTO	    "into_container" /* a directory; none: nothing is written there */

#define CRASH_MAX_WAIT_MS 1000
#define CRASH_MAX_BYTES	  (1ull << 30)
#define CRASH_CAPTURES	  5
#define CRASH_WINDOW_S	  600
