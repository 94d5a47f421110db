/*
 * What provider files share: the providers themselves, their blocks of probe ids, stability.
 *
 * Facts    stability triples: providers.md, section 0.
 */
#pragma once

#include "kernel/kernel.h"
#include "d/attr.h"
#include "probe/probe.h"

extern const struct provider provider_dtrace, provider_profile, provider_syscall, provider_rawtp,
	provider_pid, provider_declared;

/* Blocks of ids, below PROBE_ID_DYNAMIC. */
enum {
	DTRACE_ID_BASE = 1,
	DTRACE_ID_COUNT = 3,
	PROFILE_ID_BASE = DTRACE_ID_BASE + DTRACE_ID_COUNT,
	PROFILE_ID_COUNT = 13,
	SYSCALL_ID_BASE = PROFILE_ID_BASE + PROFILE_ID_COUNT,
	SYSCALL_ID_COUNT = 1001 - SYSCALL_ID_BASE,
	RAWTP_ID_BASE = SYSCALL_ID_BASE + SYSCALL_ID_COUNT,
	RAWTP_ID_COUNT = PROBE_ID_DYNAMIC - RAWTP_ID_BASE,
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
 * A number and one of the units of profile-N and tick-N ("97", "7s", "1MIN") as a period in ns;
 * false when it is not one, or is shorter than the kernel's timers are asked for (200 us).
 */
bool profile_period_parse(const char *text, uint64_t *ret_period_ns);

/*
 * An open directory of tracefs ("events/syscalls"), wherever it is mounted, or of an instance
 * mounted for us alone; -1 when there is none.
 */
int tracefs_open_dir(const char *path);
