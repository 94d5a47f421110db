/* SPDX-License-Identifier: MIT */
/* Processes: clone(), scheduling policies, limits, wait(). linux/sched.h, asm-generic/resource.h. */

inline int CLONE_ARGS_SIZE_VER0 = 64;
inline int CLONE_ARGS_SIZE_VER1 = 80;
inline int CLONE_ARGS_SIZE_VER2 = 88;
inline int CLONE_NEWTIME = 128;
inline int CLONE_VM = 256;
inline int CLONE_FS = 512;
inline int CLONE_FILES = 1024;
inline int CLONE_SIGHAND = 2048;
inline int CLONE_PIDFD = 4096;
inline int CLONE_PTRACE = 8192;
inline int CLONE_VFORK = 16384;
inline int CLONE_PARENT = 32768;
inline int CLONE_THREAD = 65536;
inline int CLONE_NEWNS = 131072;
inline int CLONE_SYSVSEM = 262144;
inline int CLONE_SETTLS = 524288;
inline int CLONE_PARENT_SETTID = 1048576;
inline int CLONE_CHILD_CLEARTID = 2097152;
inline int CLONE_DETACHED = 4194304;
inline int CLONE_UNTRACED = 8388608;
inline int CLONE_CHILD_SETTID = 16777216;
inline int CLONE_NEWCGROUP = 33554432;
inline int CLONE_NEWUTS = 67108864;
inline int CLONE_NEWIPC = 134217728;
inline int CLONE_NEWUSER = 268435456;
inline int CLONE_NEWPID = 536870912;
inline int CLONE_NEWNET = 1073741824;
inline int CLONE_IO = (int)0x80000000;

inline int SCHED_NORMAL = 0;
inline int SCHED_OTHER = 0;
inline int SCHED_FIFO = 1;
inline int SCHED_RR = 2;
inline int SCHED_BATCH = 3;
inline int SCHED_ISO = 4;
inline int SCHED_IDLE = 5;
inline int SCHED_DEADLINE = 6;

inline int PRIO_MIN = -20;
inline int PRIO_PROCESS = 0;
inline int PRIO_PGRP = 1;
inline int PRIO_USER = 2;
inline int PRIO_MAX = 20;

inline int RLIMIT_CPU = 0;
inline int RLIMIT_FSIZE = 1;
inline int RLIMIT_DATA = 2;
inline int RLIMIT_STACK = 3;
inline int RLIMIT_CORE = 4;
inline int RLIMIT_RSS = 5;
inline int RLIMIT_NPROC = 6;
inline int RLIMIT_NOFILE = 7;
inline int RLIMIT_OFILE = 7;
inline int RLIMIT_MEMLOCK = 8;
inline int RLIMIT_AS = 9;
inline int RLIMIT_LOCKS = 10;
inline int RLIMIT_SIGPENDING = 11;
inline int RLIMIT_MSGQUEUE = 12;
inline int RLIMIT_NICE = 13;
inline int RLIMIT_RTPRIO = 14;
inline int RLIMIT_RTTIME = 15;
inline int RLIMIT_NLIMITS = 16;

inline int WNOHANG = 1;
inline int WSTOPPED = 2;
inline int WUNTRACED = 2;
inline int WEXITED = 4;
inline int WCONTINUED = 8;
inline int WNOWAIT = 16777216;
