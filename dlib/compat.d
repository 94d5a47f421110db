/* SPDX-License-Identifier: MIT */
/*
 * Types that scripts of other systems take for granted, each with the nearest thing that Linux has. Structures have Linux's
 * members: what a thread is, for instance, is told by struct task_struct.
 */
typedef int boolean_t;
inline int B_FALSE = 0;
inline int B_TRUE = 1;

typedef long long hrtime_t; /* nanoseconds, as timestamp is */
typedef long time_t;        /* seconds */
typedef long long longlong_t;
typedef long long offset_t;
typedef unsigned long long u_offset_t;
typedef unsigned long long diskaddr_t;
typedef long long lldaddr_t;
typedef long daddr_t;
typedef unsigned long pgcnt_t;
typedef unsigned long pfn_t;
typedef unsigned int major_t;
typedef unsigned int minor_t;
typedef int taskid_t;
typedef int projid_t;
typedef int poolid_t;
typedef int ctid_t;
typedef short index_t;

typedef struct task_struct kthread_t;
typedef struct task_struct klwp_t;
typedef struct task_struct proc_t;
typedef struct cred cred_t;
typedef struct mutex kmutex_t;
typedef struct rw_semaphore krwlock_t;

/* the process of the current thread: its first thread */
inline struct task_struct *curproc = curthread->group_leader;
