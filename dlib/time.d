/* SPDX-License-Identifier: MIT */
/* Clocks and timers: clock_gettime(), setitimer(), timerfd. <time.h>, <sys/time.h>, <sys/timerfd.h>. */

inline int CLOCK_REALTIME = 0;
inline int CLOCK_MONOTONIC = 1;
inline int CLOCK_PROCESS_CPUTIME_ID = 2;
inline int CLOCK_THREAD_CPUTIME_ID = 3;
inline int CLOCK_MONOTONIC_RAW = 4;
inline int CLOCK_REALTIME_COARSE = 5;
inline int CLOCK_MONOTONIC_COARSE = 6;
inline int CLOCK_BOOTTIME = 7;
inline int CLOCK_REALTIME_ALARM = 8;
inline int CLOCK_BOOTTIME_ALARM = 9;
inline int CLOCK_TAI = 11;

inline int TIMER_ABSTIME = 1;
inline int ITIMER_REAL = 0;
inline int ITIMER_VIRTUAL = 1;
inline int ITIMER_PROF = 2;

inline int TFD_CLOEXEC = 524288;
inline int TFD_NONBLOCK = 2048;
inline int TFD_TIMER_ABSTIME = 1;
inline int TFD_TIMER_CANCEL_ON_SET = 2;
