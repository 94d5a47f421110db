/* SPDX-License-Identifier: MIT */
/* Provider sdt: names that scripts of other systems use, where Linux has a tracepoint for the same thing. */

provider sdt {
	/* a device's interrupt is handled: the handler's entry has the name of the device; ret is 1 when it was the device's */
	probe interrupt__start(struct irqaction *action, int irq) = rawtp:::irq_handler_entry (args[1], args[0]);
	probe interrupt__complete(struct irqaction *action, int ret) = rawtp:::irq_handler_exit (args[1], args[2]);

	/* timers: of jiffies (struct timer_list), and of high resolution (struct hrtimer) */
	probe callout__start(void *timer) = rawtp:::timer_expire_entry (args[0]), rawtp:::hrtimer_expire_entry (args[0]);
	probe callout__end(void *timer) = rawtp:::timer_expire_exit (args[0]), rawtp:::hrtimer_expire_exit (args[0]);

	/* work queues; whoever executes a work no longer knows its queue: 0 */
	probe taskq__enqueue(struct pool_workqueue *queue, struct work_struct *work) = rawtp:::workqueue_queue_work (args[1], args[2]);
	probe taskq__exec__start(uintptr_t queue, struct work_struct *work) = rawtp:::workqueue_execute_start (0, args[0]);
	probe taskq__exec__end(uintptr_t queue, struct work_struct *work) = rawtp:::workqueue_execute_end (0, args[0]);
};

#pragma D attributes Evolving/Evolving/ISA provider sdt provider
#pragma D attributes Private/Private/Unknown provider sdt module
#pragma D attributes Private/Private/Unknown provider sdt function
#pragma D attributes Private/Private/ISA provider sdt name
#pragma D attributes Private/Private/ISA provider sdt args
