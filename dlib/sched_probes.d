/* SPDX-License-Identifier: MIT */
/*
 * Provider sched: threads get and leave CPUs. Probes at one place fire in the order in which they stand here.
 *
 * Runnable threads are looked at from outside: one that runs has left the queue, one that is made to wait is put back. Older
 * kernels say less: what they cannot tell has no probe there, and asking for it says what is missing.
 */
#pragma D depends_on library procfs.d
#pragma D depends_on library sched.d

typedef short pri_t;

/* Linux include/linux/sched/prio.h */
inline int __nice_0 = 120;

provider sched {
	probe sleep() = rawtp:::sched_switch /args[3] != 0 && !args[0]/;

	probe preempt() = rawtp:::sched_entry_tp /args[0]/
		|| rawtp:::sched_switch /args[0] && args[3] == 0/;

	/*
	 * Who is made to wait goes back to the front of the queue. A thread that is woken while it still runs, on its way to sleep,
	 * goes on: it comes to no queue.
	 */
	probe enqueue(struct task_struct *t, processorid_t c, int front)
		: (lwpsinfo_t *t, psinfo_t *t, cpuinfo_t *c, int front)
		= rawtp:::sched_wakeup /!args[0]->on_cpu/ (args[0], args[0]->thread_info.cpu, 0),
		  rawtp:::sched_wakeup_new (args[0], args[0]->thread_info.cpu, 0),
		  rawtp:::sched_switch /args[1]->pid != 0 && (args[0] || args[3] == 0)/ (args[1], cpu, args[0]),
		  rawtp:::sched_migrate_task /args[0]->on_rq/ (args[0], args[1], 0);

	probe dequeue(struct task_struct *t, processorid_t c) : (lwpsinfo_t *t, psinfo_t *t, cpuinfo_t *c)
		= rawtp:::sched_switch /args[2]->pid != 0/ (args[2], cpu),
		  rawtp:::sched_migrate_task /args[0]->on_rq/ (args[0], args[0]->thread_info.cpu);

	probe off__cpu(struct task_struct *next) : (lwpsinfo_t *next, psinfo_t *next)
		= rawtp:::sched_switch (args[2]);

	/* Linux 6.15; before, the function by which a thread that gets the CPU ends the switch */
	probe on__cpu() = rawtp:::sched_exit_tp /args[0]/
		|| fbt:vmlinux:finish_task_switch*:entry ();
	probe remain__cpu() = rawtp:::sched_exit_tp /!args[0]/
		|| "before Linux 6.15, no tracepoint says that the scheduler lets a thread go on: sched:::off-cpu and sched:::on-cpu fire when it does not";

	probe wakeup(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t) = rawtp:::sched_waking (args[0]);

	/* the timer that accounts for a tick (before Linux 6.9, which had a tick_nohz_handler() for something else; since) */
	probe tick(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t)
		= rawtp:::hrtimer_expire_entry /args[0]->function == (void *)&`tick_sched_timer/ (curthread)
		|| rawtp:::hrtimer_expire_entry /args[0]->function == (void *)&`tick_nohz_handler/ (curthread);

	probe surrender(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t)
		= rawtp:::sched_set_need_resched_tp /args[1] != cpu/ (args[0])
		|| "before Linux 6.15, no tracepoint says that a thread is asked to give up its CPU: sched:::preempt fires when it has to";

	/* a lock's priority that is lent, and what a thread asks for itself */
	probe change__pri(struct task_struct *t, pri_t pri) : (lwpsinfo_t *t, psinfo_t *t, pri_t pri)
		= rawtp:::sched_pi_setprio (args[0], args[1] != NULL && args[1]->prio < args[0]->normal_prio ?
			args[1]->prio : args[0]->normal_prio),
		  syscall::setpriority:entry /arg0 == 0 && (arg1 == 0 || arg1 == curthread->pid)/
			(curthread, __nice_0 + (int)arg2);

	/* threads of other systems say that they want to keep the CPU for a moment */
	probe schedctl__nopreempt(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t)
		= "a thread of Linux cannot ask to keep its CPU; sched:::preempt fires when it has to go";
	probe schedctl__preempt(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t)
		= "a thread of Linux cannot ask to keep its CPU; sched:::preempt fires when it has to go";
	probe schedctl__yield(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t)
		= "a thread of Linux cannot ask to keep its CPU; syscall::sched_yield:entry fires when it gives the CPU away";

	/* CPU caps of zones: a control group's limit (cpu.max) is the nearest thing */
	probe cpucaps__sleep(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t)
		= "no tracepoint of Linux says that a control group has used up its CPU time; cpu.stat of the group counts that (nr_throttled)";
	probe cpucaps__wakeup(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t)
		= "no tracepoint of Linux says that a control group has got CPU time again; cpu.stat of the group counts that (throttled_usec)";
};

#pragma D attributes Evolving/Evolving/ISA provider sched provider
#pragma D attributes Private/Private/Unknown provider sched module
#pragma D attributes Private/Private/Unknown provider sched function
#pragma D attributes Evolving/Evolving/ISA provider sched name
#pragma D attributes Evolving/Evolving/ISA provider sched args
