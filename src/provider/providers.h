/* SPDX-License-Identifier: MIT */
/*
 * The providers, their blocks of probe ids, and stability triples, shared by the provider files.
 * To add a provider: a file that ends in `const struct provider provider_NAME', and a row in
 * providers.def.
 *
 * Facts    stability triples: providers.md 0.
 */
#pragma once

#include "kernel/kernel.h"
#include "d/parse/attr.h"
#include "probe/probe.h"

#define PROVIDER(name, nids) extern const struct provider provider_##name;
#define ARRIVALS(name)
#include "provider/providers.def"
#undef PROVIDER
#undef ARRIVALS

extern const struct provider provider_remains;

/* The blocks of ids of the providers, one behind the other. */
enum {
	PROVIDER_IDS_BEGIN = 0,
#define PROVIDER(name, nids) name##_ID_BASE, name##_ID_LAST = name##_ID_BASE + (nids)-1,
#define ARRIVALS(name)
#include "provider/providers.def"
#undef PROVIDER
	PROVIDER_IDS_END
};
_Static_assert(PROVIDER_IDS_END <= PROBE_ID_DYNAMIC, "dynamic ids begin behind the blocks");
enum {
#define PROVIDER(name, nids) name##_ID_COUNT = nids,
#include "provider/providers.def"
#undef PROVIDER
#undef ARRIVALS
};
/* Two members of struct provider. */
#define PROVIDER_IDS(name) .id_base = name##_ID_BASE, .id_count = name##_ID_COUNT

/* Keys of dtrace:::BEGIN and END in their unit. */
enum { DTRACE_KEY_BEGIN, DTRACE_KEY_END, DTRACE_KEY_ERROR };
#define DTRACE_ID_ERROR (dtrace_ID_BASE + DTRACE_KEY_ERROR)

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
