/* SPDX-License-Identifier: MIT */
/*
 * Members of other systems' structures that are not simply members of Linux under another name. src/d/parse/foreign.def says
 * for which members the inlines here stand: p->p_user.u_psargs, for instance, is __proc_user[p].u_psargs.
 */
#pragma D depends_on library procfs.d
#pragma D depends_on library sched.d
#pragma D depends_on library zone.d
#pragma D depends_on library pidns.d

/* p_user: what a process was started as, and where it is */
typedef struct __user {
	char u_comm[16];
	char u_psargs[80];      /* as curpsinfo->pr_psargs */
	timestruc_t u_start;    /* since 1970 */
	int u_argc;             /* this and the next two: of the current process; else 0 */
	uintptr_t u_argv;
	uintptr_t u_envp;
	struct path *u_cdir;    /* u_cdir->v_path is the text */
	struct path *u_rdir;
} user_t;

translator user_t <struct task_struct *T> {
	u_comm = T->group_leader->comm;
	u_psargs = xlate<psinfo_t *>(T)->pr_psargs;
	u_start = xlate<timestruc_t>(T->group_leader->start_boottime + __boot_time);
	u_argc = __task_argc[T];
	u_argv = xlate<psinfo_t *>(T)->pr_argv;
	u_envp = xlate<psinfo_t *>(T)->pr_envp;
	u_cdir = &T->fs->pwd;
	u_rdir = &T->fs->root;
};
inline user_t __proc_user[struct task_struct *T] = xlate<user_t>(T);

/* p_args: the arguments as one text, words separated by blanks; its length with the NUL that ends it */
struct __pargs { char ar_args[80]; uint_t ar_length; };
translator struct __pargs <struct task_struct *T> {
	ar_args = xlate<psinfo_t *>(T)->pr_psargs;
	ar_length = strlen(xlate<psinfo_t *>(T)->pr_psargs) + 1;
};
inline struct __pargs *__proc_args[struct task_struct *T] = xlate<struct __pargs *>(T);

/* p_pidp, p_pgidp, p_sessp->s_sidp: numbers of a process, of its group and of its session */
struct __pid { pid_t pid_id; };
translator struct __pid <struct task_struct *T> { pid_id = __task_tgid[T]; };
translator struct __pid <struct pid *P> { pid_id = __pid_number[P]; };
inline struct __pid *__proc_pid[struct task_struct *T] = xlate<struct __pid *>(T);
inline struct __pid *__proc_group[struct task_struct *T] = xlate<struct __pid *>(T->signal->pids[2]);
inline struct __pid *__session_pid[struct signal_struct *S] = xlate<struct __pid *>(S->pids[3]);
inline pid_t __group_number[struct signal_struct *S] = __pid_number[S->pids[2]];
inline pid_t __session_number[struct signal_struct *S] = __pid_number[S->pids[3]];

/* p_zone, p_stat (SSLEEP and its like, procfs.d) */
struct __zone { uint_t zone_id; string zone_name; };
translator struct __zone <struct task_struct *T> {
	zone_id = __task_zone[T];
	zone_name = __task_zone[T] == 0 ? "global" : stringof(T->nsproxy->uts_ns->name.nodename);
};
inline struct __zone *__proc_zone[struct task_struct *T] = xlate<struct __zone *>(T);
inline char __proc_state[struct task_struct *T] = __task_state[T->group_leader];

/* of a thread: t_cpu, t_start (seconds since 1970), td_oncpu, td_lastcpu */
inline processorid_t __thread_cpu_id[struct task_struct *T] = __either(T->thread_info.cpu, T->cpu);
inline struct rq *__thread_cpu[struct task_struct *T] = T->se.cfs_rq->rq;

/*
 * t_cpu is the CPU's run queue, which has what other systems keep in the structure of a CPU, and in the queue that cpu_disp leads
 * to. disp_nrunnable are threads that wait; here the one that runs is in the queue, too, but for the idle thread.
 */
inline psetid_t __rq_pset[struct rq *Q] = 0;
inline chipid_t __rq_chip[struct rq *Q] = __cpu_chip[Q->cpu];
inline lgrp_id_t __rq_node[struct rq *Q] = __cpu_node[Q->cpu];
inline processor_info_t __rq_info[struct rq *Q] = xlate<processor_info_t>((processorid_t)Q->cpu);
inline struct rq *__rq_disp[struct rq *Q] = Q;
inline int __rq_runnable[struct rq *Q] = Q->nr_running > 0 && Q->curr != Q->idle ? Q->nr_running - 1 : Q->nr_running;
inline int64_t __thread_start[struct task_struct *T] = (T->start_boottime + __boot_time) / 1000000000;

/* v_path: of a file, of a folder */
inline string __file_path[struct file *F] = d_path(&F->f_path);
inline string __path_text[struct path *P] = d_path(P);
