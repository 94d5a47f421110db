/* SPDX-License-Identifier: MIT */
/* futex(): linux/futex.h. */

inline int FUTEX_WAIT = 0;
inline int FUTEX_WAKE = 1;
inline int FUTEX_FD = 2;
inline int FUTEX_REQUEUE = 3;
inline int FUTEX_CMP_REQUEUE = 4;
inline int FUTEX_WAKE_OP = 5;
inline int FUTEX_LOCK_PI = 6;
inline int FUTEX_UNLOCK_PI = 7;
inline int FUTEX_TRYLOCK_PI = 8;
inline int FUTEX_WAIT_BITSET = 9;
inline int FUTEX_WAKE_BITSET = 10;
inline int FUTEX_WAIT_REQUEUE_PI = 11;
inline int FUTEX_CMP_REQUEUE_PI = 12;
inline int FUTEX_LOCK_PI2 = 13;
inline int FUTEX_PRIVATE_FLAG = 128;
inline int FUTEX_CLOCK_REALTIME = 256;
inline int FUTEX_CMD_MASK = -385;
inline int FUTEX_WAITERS = (int)0x80000000;
inline int FUTEX_OWNER_DIED = 1073741824;
inline int FUTEX_TID_MASK = 1073741823;

inline int FUTEX_WAIT_PRIVATE = 128;
inline int FUTEX_WAKE_PRIVATE = 129;
inline int FUTEX_BITSET_MATCH_ANY = -1;
