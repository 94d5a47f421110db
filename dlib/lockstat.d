/* SPDX-License-Identifier: MIT */
/* Locks: how a readers-writer lock is asked for. */
inline int RW_WRITER = 0;
inline int RW_READER = 1;

/* kinds of waiting: Linux include/trace/events/lock.h */
inline unsigned int LCB_F_SPIN = 1;
inline unsigned int LCB_F_READ = 2;
inline unsigned int LCB_F_WRITE = 4;
inline unsigned int LCB_F_RT = 8;
inline unsigned int LCB_F_PERCPU = 16;
inline unsigned int LCB_F_MUTEX = 32;
