/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads: psinfo_t, lwpsinfo_t, curpsinfo, curlwpsinfo.
 *
 * Fields that moved between versions of the kernel are named in both ways: __either(). A process
 * without memory of its own (a kernel thread) has sizes of 0, and its name for arguments.
 */
#pragma D depends_on library machine.d
#pragma D depends_on library cpus.d
#pragma D depends_on library pidns.d
#pragma D depends_on library zone.d

inline char PR_MODEL_ILP32 = 1;
inline char PR_MODEL_LP64 = 2;

inline char SSLEEP = 1;
inline char SRUN = 2;
inline char SZOMB = 3;
inline char SSTOP = 4;
inline char SIDL = 5;
inline char SONPROC = 6;
inline char SWAIT = 7;

inline int PR_STOPPED = 0x1;
inline int PR_ISTOP = 0x2;
inline int PR_DSTOP = 0x4;
inline int PR_STEP = 0x8;
inline int PR_ASLEEP = 0x10;
inline int PR_PCINVAL = 0x20;
inline int PR_ASLWP = 0x40;
inline int PR_AGENT = 0x80;
inline int PR_DETACH = 0x100;
inline int PR_DAEMON = 0x200;
inline int PR_ISSYS = 0x1000;
inline int PR_VFORKP = 0x2000;
inline int PR_ORPHAN = 0x4000;
inline int PR_FORK = 0x100000;
inline int PR_RLC = 0x200000;
inline int PR_KLC = 0x400000;
inline int PR_ASYNC = 0x800000;
inline int PR_MSACCT = 0x1000000;
inline int PR_BPTADJ = 0x2000000;
inline int PR_PTRACE = 0x4000000;
inline int PR_MSFORK = 0x8000000;
inline int PR_IDLE = 0x10000000;

inline char SOBJ_NONE = 0;
inline char SOBJ_MUTEX = 1;
inline char SOBJ_RWLOCK = 2;
inline char SOBJ_CV = 3;
inline char SOBJ_SEMA = 4;
inline char SOBJ_USER = 5;
inline char SOBJ_USER_PI = 6;
inline char SOBJ_SHUTTLE = 7;

typedef struct timestruc {
	long tv_sec;
	long tv_nsec;
} timestruc_t;

/* from nanoseconds */
translator timestruc_t <uint64_t NS> {
	tv_sec = NS / 1000000000;
	tv_nsec = NS % 1000000000;
};

typedef struct lwpsinfo {
	int pr_flag;            /* PR_*, above */
	int pr_lwpid;           /* thread id */
	uintptr_t pr_addr;      /* address of the thread */
	uintptr_t pr_wchan;     /* lock it waits for, if the kernel knows */
	char pr_stype;          /* SOBJ_* */
	char pr_state;          /* SSLEEP, ... */
	char pr_sname;          /* the same as a letter */
	char pr_nice;           /* 0 to 39, 20 is normal */
	short pr_syscall;       /* system call it is in; the current thread only, else 0 */
	char pr_oldpri;         /* this and pr_cpu: Linux has nothing like it */
	char pr_cpu;
	int pr_pri;             /* as the kernel counts: lower is more urgent */
	ushort_t pr_pctcpu;
	timestruc_t pr_start;   /* since 1970 */
	timestruc_t pr_time;    /* CPU time used */
	char pr_clname[8];      /* scheduling class: TS, RT, ... */
	char pr_name[16];       /* name of the thread */
	processorid_t pr_onpro; /* CPU it ran on last */
	processorid_t pr_bindpro; /* the only CPU it may run on, or -1 */
	int pr_bindpset;
	int pr_lgrp;            /* NUMA node of pr_onpro */
} lwpsinfo_t;

/* __TASK_STOPPED, __TASK_TRACED, EXIT_DEAD, ...: Linux include/linux/sched.h */
inline int __task_stopped[struct task_struct *T] = (T->__state & 0xc) != 0;
inline int __task_asleep[struct task_struct *T] = (T->__state & 0x3) != 0;

inline char __task_state[struct task_struct *T] =
	T->exit_state & 0x30 ? SZOMB :
	T->__state & 0xc ? SSTOP :
	T->__state & 0x3 ? SSLEEP :
	T->__state & 0x800 ? SIDL :
	T->__state & 0x300 ? SWAIT :
	T->on_cpu ? SONPROC : SRUN;

inline char __task_letter[struct task_struct *T] =
	T->exit_state & 0x30 ? 'Z' :
	T->__state & 0xc ? 'T' :
	T->__state & 0x3 ? 'S' :
	T->__state & 0x800 ? 'I' :
	T->__state & 0x300 ? 'W' :
	T->on_cpu ? 'O' : 'R';

inline int __exit_status[struct task_struct *T] =
	T->signal->group_exit_code != 0 ? T->signal->group_exit_code : T->exit_code;
inline int __task_flag[struct task_struct *T] =
	(__task_stopped[T] ? PR_STOPPED | PR_ISTOP : 0) |
	(__task_asleep[T] ? PR_ASLEEP : 0) |
	(T->ptrace ? PR_PTRACE : 0) |
	(T->flags & 0x200000 ? PR_ISSYS : 0) |
	(T->pid == 0 ? PR_IDLE : 0);

inline uintptr_t __task_lock[struct task_struct *T] =
	__either(T->pi_blocked_on ? (uintptr_t)T->pi_blocked_on : (uintptr_t)T->blocked_on,
		 (uintptr_t)T->pi_blocked_on, (uintptr_t)0);

/* SCHED_NORMAL, FIFO, RR, BATCH, -, IDLE, DEADLINE, EXT: Linux include/uapi/linux/sched.h */
inline string __task_class[struct task_struct *T] =
	T->pid == 0 ? "SYS" :
	T->policy == 1 || T->policy == 2 ? "RT" :
	T->policy == 5 ? "IDLE" :
	T->policy == 6 ? "DL" :
	T->policy == 7 ? "EXT" : "TS";

/*
 * The registers a system call was made with lie at the top of the thread's stack:
 * Linux arch/x86/include/asm/processor.h, task_pt_regs(); below them is room for FRED, if the kernel knows it.
 * orig_ax is -1 where the kernel was not entered by a system call.
 */
inline long __cur_syscall[struct task_struct *T] =
	T != curthread || T->flags & 0x200000 ? 0 :
	(long)((struct pt_regs *)((uintptr_t)T->stack + 16384 - __either(sizeof(struct fred_info), 0)) - 1)->orig_ax;

translator lwpsinfo_t <struct task_struct *T> {
	pr_flag = __task_flag[T];
	pr_lwpid = __task_pid[T];
	pr_addr = (uintptr_t)T;
	pr_wchan = __task_lock[T];
	pr_stype = __task_lock[T] ? SOBJ_MUTEX : __task_asleep[T] ? SOBJ_CV : SOBJ_NONE;
	pr_state = __task_state[T];
	pr_sname = __task_letter[T];
	pr_nice = T->static_prio - 100;
	pr_syscall = (this->__nr = __cur_syscall[T], this->__nr < 0 ? 0 : this->__nr);
	pr_pri = T->prio;
	pr_pctcpu = 0;
	pr_start = xlate<timestruc_t>(T->start_boottime + __boot_time);
	pr_time = xlate<timestruc_t>(T->utime + T->stime);
	pr_clname = __task_class[T];
	pr_name = T->comm;
	pr_onpro = __either(T->thread_info.cpu, T->cpu);
	pr_bindpro = T->nr_cpus_allowed == 1 ? __either(T->thread_info.cpu, T->cpu) : -1;
	pr_bindpset = -1;
	pr_lgrp = __cpu_node[__either(T->thread_info.cpu, T->cpu)];
};

typedef struct psinfo {
	int pr_flag;
	int pr_nlwp;            /* threads */
	pid_t pr_pid;
	pid_t pr_ppid;
	pid_t pr_pgid;
	pid_t pr_sid;
	uid_t pr_uid;
	uid_t pr_euid;
	gid_t pr_gid;
	gid_t pr_egid;
	uintptr_t pr_addr;      /* address of the process: its first thread */
	size_t pr_size;         /* KB mapped */
	size_t pr_rssize;       /* KB resident */
	dev_t pr_ttydev;        /* controlling terminal, or -1 */
	ushort_t pr_pctcpu;
	ushort_t pr_pctmem;
	timestruc_t pr_start;   /* since 1970 */
	timestruc_t pr_time;    /* CPU time used */
	timestruc_t pr_ctime;   /* and by children that ended */
	char pr_fname[16];
	char pr_psargs[80];
	int pr_wstat;
	int pr_argc;            /* of the current process; else 0 */
	uintptr_t pr_argv;
	uintptr_t pr_envp;
	char pr_dmodel;
	id_t pr_taskid;
	id_t pr_projid;
	int pr_nzomb;
	id_t pr_poolid;
	uint_t pr_zoneid;
	id_t pr_contract;
	size_t pr_arglen;       /* bytes of the arguments, with their NULs */
	uint_t pr_jailid;
	lwpsinfo_t pr_lwp;      /* of the first thread */
} psinfo_t;

/*
 * Whether a task is the user's where the current one is, in a session about the processes of one user: the rule of ptrace(2),
 * as for the current task itself (src/rt/privilege.c). Its ids are those of the current task, and of its capabilities it has
 * none, its memory may be dumped, and both belong to the same user namespace.
 */
inline int __task_is_own[struct task_struct *T] =
	(T->flags & 0x200000) == 0 && T->mm != NULL && (*(uint64_t *)&T->mm->flags & 3) == 1 &&
	T->mm->user_ns == curthread->mm->user_ns && T->real_cred->user_ns == curthread->real_cred->user_ns &&
	T->real_cred->uid.val == curthread->real_cred->uid.val && T->real_cred->euid.val == curthread->real_cred->uid.val &&
	T->real_cred->suid.val == curthread->real_cred->uid.val && T->real_cred->gid.val == curthread->real_cred->gid.val &&
	T->real_cred->egid.val == curthread->real_cred->gid.val && T->real_cred->sgid.val == curthread->real_cred->gid.val &&
	(curthread->real_cred->uid.val == 0 || *(uint64_t *)&T->real_cred->cap_permitted == 0);

/* The words of exec lie on the stack: count, addresses, 0, addresses of the environment. */
inline int __task_argc[struct task_struct *T] =
	T->mm != NULL && T->mm == curthread->mm ? *(userland int *)T->mm->start_stack : 0;

translator psinfo_t <struct task_struct *T> {
	pr_flag = __task_flag[T];
	pr_nlwp = T->signal->nr_threads;
	pr_pid = __task_tgid[T];
	pr_ppid = __task_tgid[T->real_parent];
	pr_pgid = __pid_number[T->signal->pids[2]];
	pr_sid = __pid_number[T->signal->pids[3]];
	pr_uid = T->real_cred->uid.val;
	pr_euid = T->cred->euid.val;
	pr_gid = T->real_cred->gid.val;
	pr_egid = T->cred->egid.val;
	pr_addr = (uintptr_t)T->group_leader;
	pr_size = T->mm == NULL ? 0 : T->mm->total_vm * (__page_size / 1024);
	pr_rssize = T->mm == NULL ? 0 : (__page_size / 1024) *
		__either(T->mm->rss_stat[0].count + T->mm->rss_stat[1].count + T->mm->rss_stat[3].count,
			 T->mm->rss_stat.count[0].counter + T->mm->rss_stat.count[1].counter +
			 T->mm->rss_stat.count[3].counter);
	pr_ttydev = T->signal->tty == NULL ? (dev_t)-1 :
		T->signal->tty->driver->major << 20 |
		(T->signal->tty->driver->minor_start + T->signal->tty->index);
	pr_pctcpu = 0;
	pr_pctmem = 0;
	pr_start = xlate<timestruc_t>(T->group_leader->start_boottime + __boot_time);
	pr_time = xlate<timestruc_t>(T->signal->utime + T->signal->stime + T->utime + T->stime);
	pr_ctime = xlate<timestruc_t>(T->signal->cutime + T->signal->cstime);
	pr_fname = T->group_leader->comm;
	pr_psargs = T->mm != NULL && T->mm == curthread->mm ? substr(execargs, 0, 79) : T->group_leader->comm;
	pr_wstat = T->exit_state || T->flags & 4 ? __exit_status[T] : 0; /* PF_EXITING: it is about to end */
	pr_argc = __task_argc[T];
	pr_argv = T->mm == NULL ? 0 : T->mm->start_stack + 8;
	pr_envp = T->mm == NULL ? 0 : T->mm->start_stack + 8 * (__task_argc[T] + 2);
	pr_dmodel = T->thread_info.flags & 1 << 29 ? PR_MODEL_ILP32 : PR_MODEL_LP64;
	pr_taskid = 0;
	pr_projid = 0;
	pr_nzomb = 0;
	pr_poolid = 0;
	pr_zoneid = __task_zone[T];
	pr_contract = 0;
	pr_arglen = T->mm == NULL ? 0 : T->mm->arg_end - T->mm->arg_start;
	pr_jailid = __task_zone[T];
	pr_lwp = xlate<lwpsinfo_t>(T->group_leader);
};

inline psinfo_t *curpsinfo = xlate<psinfo_t *>(curthread);
inline lwpsinfo_t *curlwpsinfo = xlate<lwpsinfo_t *>(curthread);
