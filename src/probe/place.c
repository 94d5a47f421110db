/* SPDX-License-Identifier: MIT */
/* What is the same about places of a kind in all engines. */
#include "probe/place.h"

/*
 * Programs of raw tracepoints and system calls run with preemption off: only interrupts run then.
 */
/* clang-format off */
static const struct place_traits traits[PLACE_NKINDS] = {
	[PLACE_TEST_RUN] = {
		.name = "fathom_begin", .is_begin_end = true, .wider = PLACE_TEST_RUN,
	},
	[PLACE_SYS_ENTER] = {
		.name = "fathom_enter", .target = "sys_enter", .is_syscall = true,
		.is_interruptible = true, .family = 'e', .wider = PLACE_SYS_ENTER_VIEW,
	},
	[PLACE_SYS_EXIT] = {
		.name = "fathom_exit", .target = "sys_exit", .is_syscall = true,
		.is_interruptible = true, .family = 'x', .wider = PLACE_SYS_EXIT_VIEW,
	},
	[PLACE_TIMER] = {
		.name = "fathom_perf", .is_timer = true, .interrupts = true, .wider = PLACE_TIMER,
	},
	[PLACE_COUNTER] = {
		.name = "fathom_count", .is_timer = true, .interrupts = true,
		.is_interruptible = true, .wider = PLACE_COUNTER,
	},
	[PLACE_SYS_ENTER_VIEW] = {
		.name = "fathom_enterv", .target = "sys_enter", .is_syscall = true,
		.is_interruptible = true, .family = 'e', .wider = PLACE_SYS_ENTER_VIEW,
	},
	[PLACE_SYS_EXIT_VIEW] = {
		.name = "fathom_exitv", .target = "sys_exit", .is_syscall = true,
		.is_interruptible = true, .family = 'x', .wider = PLACE_SYS_EXIT_VIEW,
	},
	[PLACE_SYS_EXIT_RAW] = {
		.name = "fathom_exitr", .target = "sys_exit", .is_syscall = true,
		.is_interruptible = true, .family = 'x', .wider = PLACE_SYS_EXIT_RAW,
	},
	[PLACE_UPROBE] = {
		.name = "fathom_uprobe", .is_in_process = true, .is_preemptible = true,
		.is_interruptible = true, .wider = PLACE_UPROBE,
	},
	[PLACE_KFUNC] = {
		.name = "fathom_kfunc", .interrupts = true, .is_interruptible = true,
		.yields = true, .wider = PLACE_KFUNC,
	},
	[PLACE_KFUNC_FEW] = {
		.name = "fathom_fentry", .is_preemptible = true, .interrupts = true,
		.is_interruptible = true, .yields = true, .wider = PLACE_KFUNC_FEW,
	},
	[PLACE_RAWTP] = {
		.name = "fathom_rawtp", .interrupts = true, .is_interruptible = true,
		.wider = PLACE_RAWTP,
	},
	[PLACE_EVENT] = {
		.name = "fathom_event", .interrupts = true, .is_interruptible = true,
		.wider = PLACE_EVENT,
	},
	[PLACE_REMAINS] = {
		.name = "fathom_remains", .is_remains = true, .wider = PLACE_REMAINS,
	},
};
/* clang-format on */

const struct place_traits *place_traits(enum place_kind kind)
{
	return &traits[kind];
}
