/* SPDX-License-Identifier: MIT */
/* Tables of the names of errors, signals and flags. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dif/names.h"

/* ---- by number ------------------------------------------------------------------------------- */

/* 0, 41 and 58 are no error numbers. */
/* clang-format off */
static const char errno_names[][16] = {
	[0] = "0", [41] = "41", [58] = "58",
#define ERROR(name, text) [name] = #name,
#include "dif/errors.def"
#undef ERROR
};
/* clang-format on */

/* clang-format off */
static const char error_texts[][52] = {
	[0] = "Success", [41] = "Unknown error 41", [58] = "Unknown error 58",
#define ERROR(name, text) [name] = text,
#include "dif/errors.def"
#undef ERROR
};
/* clang-format on */

/* The C library uses signals 32 and 33 itself: for programs, real-time signals begin with 34. */
#define SIG(name) [name] = #name
#define RT(n)	  [34 + (n)] = "SIGRTMIN+" #n
static const char signal_names[][12] = {
	/* clang-format off */
	[0] = "0", [32] = "32", [33] = "33", [34] = "SIGRTMIN",
	SIG(SIGHUP), SIG(SIGINT), SIG(SIGQUIT), SIG(SIGILL), SIG(SIGTRAP), SIG(SIGABRT), SIG(SIGBUS), SIG(SIGFPE),
	SIG(SIGKILL), SIG(SIGUSR1), SIG(SIGSEGV), SIG(SIGUSR2), SIG(SIGPIPE), SIG(SIGALRM), SIG(SIGTERM),
	SIG(SIGSTKFLT), SIG(SIGCHLD), SIG(SIGCONT), SIG(SIGSTOP), SIG(SIGTSTP), SIG(SIGTTIN), SIG(SIGTTOU),
	SIG(SIGURG), SIG(SIGXCPU), SIG(SIGXFSZ), SIG(SIGVTALRM), SIG(SIGPROF), SIG(SIGWINCH), SIG(SIGIO),
	SIG(SIGPWR), SIG(SIGSYS),
	RT(1), RT(2), RT(3), RT(4), RT(5), RT(6), RT(7), RT(8), RT(9), RT(10), RT(11), RT(12), RT(13), RT(14), RT(15),
	RT(16), RT(17), RT(18), RT(19), RT(20), RT(21), RT(22), RT(23), RT(24), RT(25), RT(26), RT(27), RT(28), RT(29),
	RT(30),
	/* clang-format on */
};

/* clang-format off */
#define LIST(table) {table[0], sizeof(table[0]), ARRAY_LEN(table)}
/* clang-format on */
const struct name_list name_lists[NNAMES] = {
	[NAMES_ERRNO] = LIST(errno_names),
	[NAMES_ERROR] = LIST(error_texts),
	[NAMES_SIGNAL] = LIST(signal_names),
};

/* ---- flags ----------------------------------------------------------------------------------- */

/* clang-format off */
const struct flag_name flag_names[] = {
#define FLAG_KIND(kind)
#define FLAG_ROW(kind, mask, value, name)   {(mask), (value), name},
#define FLAG_BIT(kind, name)		    FLAG_ROW(kind, (uint32_t)(name), (uint32_t)(name), #name)
#define FLAG_VALUE(kind, mask, name)	    FLAG_ROW(kind, mask, (uint32_t)(name), #name)
#include "dif/flags.def"
#undef FLAG_KIND
#undef FLAG_ROW
};
const uint32_t nflag_names = ARRAY_LEN(flag_names);

enum kind {
#define FLAG_KIND(kind) KIND_##kind,
#define FLAG_ROW(kind, mask, value, name)
#include "dif/flags.def"
#undef FLAG_KIND
#undef FLAG_ROW
	NKINDS
};

/* The kind of each row of flag_names[]. */
static const uint8_t row_kinds[] = {
#define FLAG_KIND(kind)
#define FLAG_ROW(kind, mask, value, name) KIND_##kind,
#include "dif/flags.def"
#undef FLAG_KIND
#undef FLAG_ROW
};

static const char *const kind_names[] = {
#define FLAG_KIND(kind) #kind,
#define FLAG_ROW(kind, mask, value, name)
#include "dif/flags.def"
};
/* clang-format on */

const char *flag_kind_name(uint32_t i)
{
	return i < NKINDS ? kind_names[i] : NULL;
}

uint64_t flag_rows_find(const char *kind)
{
	uint32_t k = 0, first = 0, n = 0;

	while (k < NKINDS && strcmp(kind_names[k], kind) != 0)
		k++;
	while (first < nflag_names && row_kinds[first] != k)
		first++;
	while (first + n < nflag_names && row_kinds[first + n] == k)
		n++;
	return FLAG_ROWS(first, n);
}
