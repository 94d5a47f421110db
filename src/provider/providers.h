/* SPDX-License-Identifier: MIT */
/*
 * The providers, their blocks of probe ids, and stability triples, shared by the provider files.
 *
 * Facts    stability triples: providers.md 0.
 */
#pragma once

#include "kernel/kernel.h"
#include "d/parse/attr.h"
#include "probe/probe.h"

extern const struct provider provider_dtrace, provider_profile, provider_syscall, provider_rawtp,
	provider_cpc, provider_fbt, provider_sdt, provider_pid, provider_usdt, provider_declared;

/* Blocks of ids. */
enum {
	DTRACE_ID_BASE = 1,
	DTRACE_ID_COUNT = 3,
	PROFILE_ID_BASE = DTRACE_ID_BASE + DTRACE_ID_COUNT,
	PROFILE_ID_COUNT = 13,
	SYSCALL_ID_BASE = PROFILE_ID_BASE + PROFILE_ID_COUNT,
	SYSCALL_ID_COUNT = 1001 - SYSCALL_ID_BASE,
	RAWTP_ID_BASE = SYSCALL_ID_BASE + SYSCALL_ID_COUNT,
	RAWTP_ID_COUNT = 5001 - RAWTP_ID_BASE,
	SDT_ID_BASE = RAWTP_ID_BASE + RAWTP_ID_COUNT,
	SDT_ID_COUNT = PROBE_ID_DYNAMIC - SDT_ID_BASE,
	FBT_ID_BASE = PROBE_ID_LARGE,
	FBT_ID_COUNT = PROBE_ID_LARGE_END - PROBE_ID_LARGE,
};

/* Keys of dtrace:::BEGIN and END in their unit. */
enum { DTRACE_KEY_BEGIN, DTRACE_KEY_END, DTRACE_KEY_ERROR };
#define DTRACE_ID_ERROR (DTRACE_ID_BASE + DTRACE_KEY_ERROR)

/* clang-format off */
#define ATTR_EEC { STAB_EVOLVING, STAB_EVOLVING, DEP_COMMON }
#define ATTR_EEI { STAB_EVOLVING, STAB_EVOLVING, DEP_ISA }
#define ATTR_PPU { STAB_PRIVATE, STAB_PRIVATE, DEP_UNKNOWN }
#define ATTR_PPI { STAB_PRIVATE, STAB_PRIVATE, DEP_ISA }
#define ATTR_UUU { STAB_UNSTABLE, STAB_UNSTABLE, DEP_UNKNOWN }
/* clang-format on */

/*
 * Parses a number and a unit of profile-N and tick-N ("97", "7s", "1MIN") into a period in ns;
 * false when the text is none, or the period is shorter than 200 us.
 */
bool profile_period_parse(const char *text, uint64_t *ret_period_ns);

/*
 * Opens a directory of tracefs ("events/syscalls"), where it is mounted, or in an instance that is
 * mounted for this process alone; -1 when it does not exist.
 */
int tracefs_open_dir(const char *path);
struct strbuf;
/* Appends the text of a file of tracefs; 0, or the errno of what failed. */
int tracefs_read(const char *path, struct strbuf *ret);
/*
 * Whether a tracepoint could have this name. Their names are C identifiers in lower case, unlike
 * BEGIN and tick-1s.
 */
bool is_tracepoint_name(const char *name);
