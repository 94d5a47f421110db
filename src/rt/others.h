/* SPDX-License-Identifier: MIT */
/*
 * What tasks of others lose by a session that shows a user only his own: the numbers that are added
 * to rt_cpu.others_ns, in ns.
 */
#pragma once

/*
 * The time that a task loses when a program runs at it only to find out that it is not the user's:
 * the way into and out of the tracepoint or interrupt, and the guard. bench/privileges.py measures
 * it; these numbers are rather too large, for machines differ.
 */
#define RT_REFUSAL_NS	    150
#define RT_REFUSAL_TIMER_NS 3000

/*
 * A program that runs at all system calls, and means few of them, asks at one of so many, at
 * random, whose it is, which counts for all of them. The way into and out of the tracepoint is most
 * of what they cost, and so as much as a refusal.
 */
#define RT_MISSED_EACH 64
