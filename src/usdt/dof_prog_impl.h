/* SPDX-License-Identifier: MIT */
/*
 * Actions of ustack helpers in DOF (dof_prog.h): the numbers that the writer (dof_prog_write.c) and
 * the reader (dof_prog_read.c) have for kinds that DTrace does not know.
 */
#pragma once

#include "usdt/dof_impl.h"
#include "usdt/dof_prog.h"

#define DOF_PROG_COMMENT "ustack helper: " /* and the name of the text */

/*
 * Kinds of actions, and their arg: jumps have the number of an action, loops that of iterations or
 * of an action, and in the upper half the number of loops around them.
 */
#define DOF_ACT_DIFEXPR 1u
#define DOF_ACT_OURS	0x46000000u /* and the number below */

static const enum act_kind dof_acts_ours[] = {ACT_BRZ,	 ACT_JMP,    ACT_LOOP,
					      ACT_AGAIN, ACT_UFRAME, ACT_UNWIND};

static inline uint32_t dof_act_kind(enum act_kind kind)
{
	for (uint32_t i = 0; i < ARRAY_LEN(dof_acts_ours); i++)
		if (dof_acts_ours[i] == kind)
			return DOF_ACT_OURS + i;
	return kind == ACT_EXPR ? DOF_ACT_DIFEXPR : 0;
}
