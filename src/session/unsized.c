/* SPDX-License-Identifier: MIT */
/*
 * The functions that dtrace.h defines inline, as symbols of the library: for programs that know no
 * header, such as those of ctypes, and for those that were compiled before the inline functions
 * were there. Their structures are those of the first version of each, and stay so.
 */
#define DTRACE_NO_INLINE
#include <assert.h>
#include <stddef.h>

#include "dtrace.h"

enum {
	ACTIVITY_SIZE = 32,
	AGGVALUE_SIZE = 72,
	PROGINFO_SIZE = 16,
	SYMINFO_SIZE = 24,
};

#define ENDS_AT(type, member, size)                                                                \
	static_assert(offsetof(type, member) + sizeof(((type *)0)->member) <= (size) &&            \
			      (size) <= sizeof(type),                                              \
		      #type)
ENDS_AT(dtrace_activity_t, dac_ns, ACTIVITY_SIZE);
ENDS_AT(dtrace_aggvalue_t, dtav_nbuckets, AGGVALUE_SIZE);
ENDS_AT(dtrace_proginfo_t, dpi_aggregates, PROGINFO_SIZE);
ENDS_AT(dtrace_syminfo_t, dts_offset, SYMINFO_SIZE);

int dtrace_program_exec(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info)
{
	return dtrace_program_exec_sized(dtp, pgp, info, PROGINFO_SIZE);
}

void dtrace_program_info(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info)
{
	dtrace_program_info_sized(dtp, pgp, info, PROGINFO_SIZE);
}

int dtrace_activity(dtrace_hdl_t *dtp, dtrace_activity_t *ret)
{
	return dtrace_activity_sized(dtp, ret, ACTIVITY_SIZE);
}

int dtrace_aggvalue(const dtrace_aggdata_t *agg, int cpu, dtrace_aggvalue_t *ret_value)
{
	return dtrace_aggvalue_sized(agg, cpu, ret_value, AGGVALUE_SIZE);
}

int dtrace_lookup_by_addr(dtrace_hdl_t *dtp, uint64_t addr, dtrace_syminfo_t *ret_info)
{
	return dtrace_lookup_by_addr_sized(dtp, addr, ret_info, SYMINFO_SIZE);
}

int dtrace_ulookup_by_addr(dtrace_hdl_t *dtp, pid_t pid, uint64_t addr, dtrace_syminfo_t *ret_info)
{
	return dtrace_ulookup_by_addr_sized(dtp, pid, addr, ret_info, SYMINFO_SIZE);
}

int dtrace_frame_lookup(dtrace_hdl_t *dtp, const dtrace_frame_t *frame, dtrace_syminfo_t *ret_info)
{
	return dtrace_frame_lookup_sized(dtp, frame, ret_info, SYMINFO_SIZE);
}
