/* SPDX-License-Identifier: MIT */
/*
 * Provider lockstat: threads wait for locks of the kernel. args[1] are nanoseconds.
 *
 * Linux tells that a thread begins to wait, and that it has got the lock (contention_begin, contention_end; Linux 5.19). A
 * guard notes the time at the first, the probe fires at the second. A lock that is free is taken without a tracepoint: the
 * probes of every acquisition and release are made of functions of the kernel. At the return of a function its arguments
 * are gone, so the lock is noted at its entry.
 *
 * Several clauses may note the same: whatever a guard does twice at one firing, it does once. An end that had been seen
 * before, or a beginning that was not, is no wait.
 */
#pragma D depends_on library lockstat.d

inline int __is_mutex[unsigned int F] = F & (LCB_F_MUTEX | LCB_F_RT);
inline int __is_rw[unsigned int F] = F & (LCB_F_READ | LCB_F_WRITE);

/* ---- sleeping locks: one wait a thread. A mutex is spun on before the thread sleeps, and again when it is woken. ---- */

self uintptr_t __wait_lock;
self uint64_t __wait_began, __wait_slept, __wait_ended, __wait_count;
self unsigned int __wait_flags;

inline int __wait_continues[uintptr_t L] = self->__wait_lock == L && self->__wait_ended < self->__wait_began;

/* always 0 */
inline int __wait_note[uintptr_t L, unsigned int F] =
	(__wait_continues[L] ? 0 :
	 (self->__wait_lock = L, self->__wait_began = timestamp, self->__wait_slept = 0, self->__wait_flags = F,
	  self->__wait_count = __is_rw[F] && !(F & LCB_F_PERCPU) ? ((struct rw_semaphore *)L)->count.counter : 0, 0),
	 !(F & LCB_F_SPIN) && self->__wait_slept == 0 ? (self->__wait_slept = timestamp, 0) : 0);
inline int __wait_ends[uintptr_t L] =
	self->__wait_lock == L && (self->__wait_ended < self->__wait_began || self->__wait_ended == timestamp) &&
	(self->__wait_ended = timestamp, 1);

/* ---- spinning locks: a CPU may wait for another one in an interrupt. The lock chooses one of four entries of its CPU. ---- */

uintptr_t __spin_locks[2048];
uint64_t __spin_began[2048];
uint64_t __spin_ended[2048];
unsigned int __spin_flags[2048];
inline uint32_t __spin_slot[uintptr_t L] = (cpu * 4 + (L >> 6 & 3)) & 2047;

/* always 0 */
inline int __spin_note[uintptr_t L, unsigned int F] =
	(__spin_locks[__spin_slot[L]] = L, __spin_flags[__spin_slot[L]] = F, __spin_began[__spin_slot[L]] = timestamp, 0);
inline int __spin_ends[uintptr_t L] =
	__spin_locks[__spin_slot[L]] == L &&
	(__spin_ended[__spin_slot[L]] < __spin_began[__spin_slot[L]] || __spin_ended[__spin_slot[L]] == timestamp) &&
	(__spin_ended[__spin_slot[L]] = timestamp, 1);

/* ---- functions that take locks. A thread is in one such function of a sleeping lock at a time. ---- */

self uintptr_t __mutex, __rwsem;

/* always 0 */
inline int __mutex_note[uintptr_t L] = (self->__mutex = L, 0);
inline int __rwsem_note[uintptr_t L] = (self->__rwsem = L, 0);

/*
 * An interrupt may take a spin lock while the thread is about to take another one: what is entered last returns first. Four
 * at a time are enough for a thread, a soft and a hard interrupt and a machine check.
 */
self uintptr_t __spins_0, __spins_1, __spins_2, __spins_3;
self int __spins;
self uint64_t __spins_at;

/* always 0 */
inline int __spins_push[uintptr_t L] =
	(self->__spins_at == timestamp ? 0 :
	 (self->__spins_at = timestamp,
	  self->__spins == 0 ? (self->__spins_0 = L) : self->__spins == 1 ? (self->__spins_1 = L) :
	  self->__spins == 2 ? (self->__spins_2 = L) : (self->__spins_3 = L),
	  self->__spins = self->__spins + 1, 0), 0);
inline int __spins_pop =
	self->__spins_at == timestamp ? 1 :
	self->__spins > 0 ? (self->__spins_at = timestamp, self->__spins = self->__spins - 1, 1) : 0;
inline uintptr_t __spins_popped =
	self->__spins == 0 ? self->__spins_0 : self->__spins == 1 ? self->__spins_1 :
	self->__spins == 2 ? self->__spins_2 : self->__spins_3;

provider lockstat {
	probe adaptive__block(struct mutex *lock, uint64_t ns)
		= rawtp:::contention_begin /__is_mutex[args[1]] && __wait_note[(uintptr_t)args[0], args[1]]/ (NULL, 0),
		  rawtp:::contention_end /args[1] == 0 && __wait_ends[(uintptr_t)args[0]] && __is_mutex[self->__wait_flags] && self->__wait_slept != 0/
			(args[0], timestamp - self->__wait_slept)
		|| "locks have tracepoints since Linux 5.19";
	probe adaptive__spin(struct mutex *lock, uint64_t ns)
		= rawtp:::contention_begin /__is_mutex[args[1]] && __wait_note[(uintptr_t)args[0], args[1]]/ (NULL, 0),
		  rawtp:::contention_end /args[1] == 0 && __wait_ends[(uintptr_t)args[0]] && __is_mutex[self->__wait_flags] &&
				self->__wait_flags & LCB_F_SPIN/
			(args[0], (self->__wait_slept ? self->__wait_slept : timestamp) - self->__wait_began)
		|| "locks have tracepoints since Linux 5.19";
	/* a signal ended the wait */
	probe adaptive__acquire__error(struct mutex *lock, int error)
		= rawtp:::contention_begin /__is_mutex[args[1]] && __wait_note[(uintptr_t)args[0], args[1]]/ (NULL, 0),
		  rawtp:::contention_end /args[1] < 0 && __wait_ends[(uintptr_t)args[0]] && __is_mutex[self->__wait_flags]/ (args[0], -args[1])
		|| "locks have tracepoints since Linux 5.19";

	/* Linux kernel/locking/rwsem.c: bit 0 of the count is the writer, bits from 8 on are readers */
	probe rw__block(struct rw_semaphore *lock, uint64_t ns, int how, int writer, int readers)
		= rawtp:::contention_begin /__is_rw[args[1]] && !(args[1] & LCB_F_SPIN) && __wait_note[(uintptr_t)args[0], args[1]]/ (NULL, 0, 0, 0, 0),
		  rawtp:::contention_end /args[1] == 0 && __wait_ends[(uintptr_t)args[0]] && __is_rw[self->__wait_flags]/
			(args[0], timestamp - self->__wait_began, self->__wait_flags & LCB_F_READ ? RW_READER : RW_WRITER,
			 self->__wait_count & 1, self->__wait_count >> 8 & 0x7fffff)
		|| "locks have tracepoints since Linux 5.19";
	probe rw__spin(struct qrwlock *lock, uint64_t ns, int how)
		= rawtp:::contention_begin /__is_rw[args[1]] && args[1] & LCB_F_SPIN && __spin_note[(uintptr_t)args[0], args[1]]/ (NULL, 0, 0),
		  rawtp:::contention_end /args[1] == 0 && __spin_ends[(uintptr_t)args[0]] && __is_rw[__spin_flags[__spin_slot[(uintptr_t)args[0]]]]/
			(args[0], timestamp - __spin_began[__spin_slot[(uintptr_t)args[0]]],
			 __spin_flags[__spin_slot[(uintptr_t)args[0]]] & LCB_F_READ ? RW_READER : RW_WRITER)
		|| "locks have tracepoints since Linux 5.19";

	probe spin__spin(struct raw_spinlock *lock, uint64_t ns)
		= rawtp:::contention_begin /args[1] == LCB_F_SPIN && __spin_note[(uintptr_t)args[0], args[1]]/ (NULL, 0),
		  rawtp:::contention_end /args[1] == 0 && __spin_ends[(uintptr_t)args[0]] && __spin_flags[__spin_slot[(uintptr_t)args[0]]] == LCB_F_SPIN/
			(args[0], timestamp - __spin_began[__spin_slot[(uintptr_t)args[0]]])
		|| "locks have tracepoints since Linux 5.19";

	/* every acquisition and release: functions of the kernel */
	probe adaptive__acquire(struct mutex *lock)
		= fbt:vmlinux:mutex_lock:entry /__mutex_note[arg0]/ (NULL),
		  fbt:vmlinux:mutex_lock_interruptible:entry /__mutex_note[arg0]/ (NULL),
		  fbt:vmlinux:mutex_lock_killable:entry /__mutex_note[arg0]/ (NULL),
		  fbt:vmlinux:mutex_trylock:entry /__mutex_note[arg0]/ (NULL),
		  fbt:vmlinux:mutex_lock:return /self->__mutex != 0/ ((struct mutex *)self->__mutex),
		  fbt:vmlinux:mutex_lock_interruptible:return /self->__mutex != 0 && (int)arg1 == 0/ ((struct mutex *)self->__mutex),
		  fbt:vmlinux:mutex_lock_killable:return /self->__mutex != 0 && (int)arg1 == 0/ ((struct mutex *)self->__mutex),
		  fbt:vmlinux:mutex_trylock:return /self->__mutex != 0 && (int)arg1 == 1/ ((struct mutex *)self->__mutex)
		|| "a lock that is free is taken without a tracepoint: lockstat:::adaptive-block and adaptive-spin fire where a thread had to wait";
	probe adaptive__release(struct mutex *lock)
		= fbt:vmlinux:mutex_unlock:entry ((struct mutex *)arg0)
		|| "a lock that is free is taken without a tracepoint: lockstat:::adaptive-block and adaptive-spin fire where a thread had to wait";
	probe spin__acquire(struct raw_spinlock *lock)
		= fbt:vmlinux:_raw_spin_lock*:entry /__spins_push[arg0]/ (NULL),
		  fbt:vmlinux:_raw_spin_trylock*:entry /__spins_push[arg0]/ (NULL),
		  fbt:vmlinux:_raw_spin_lock*:return /__spins_pop/ ((struct raw_spinlock *)__spins_popped),
		  fbt:vmlinux:_raw_spin_trylock*:return /__spins_pop && (int)arg1 == 1/ ((struct raw_spinlock *)__spins_popped)
		|| "a lock that is free is taken without a tracepoint: lockstat:::spin-spin fires where a CPU had to wait";
	probe spin__release(struct raw_spinlock *lock)
		= fbt:vmlinux:_raw_spin_unlock*:entry ((struct raw_spinlock *)arg0)
		|| "a lock that is free is taken without a tracepoint: lockstat:::spin-spin fires where a CPU had to wait";
	/* of both kinds: locks that threads sleep for (struct rw_semaphore), and those that they spin for (rwlock_t): args[2] is 1 */
	probe rw__acquire(struct rw_semaphore *lock, int how, int spins)
		= fbt:vmlinux:down_read:entry /__rwsem_note[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:down_read_interruptible:entry /__rwsem_note[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:down_read_killable:entry /__rwsem_note[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:down_read_trylock:entry /__rwsem_note[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:down_write:entry /__rwsem_note[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:down_write_killable:entry /__rwsem_note[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:down_write_trylock:entry /__rwsem_note[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:down_read:return /self->__rwsem != 0/ ((struct rw_semaphore *)self->__rwsem, RW_READER, 0),
		  fbt:vmlinux:down_read_interruptible:return /self->__rwsem != 0 && (int)arg1 == 0/ ((struct rw_semaphore *)self->__rwsem, RW_READER, 0),
		  fbt:vmlinux:down_read_killable:return /self->__rwsem != 0 && (int)arg1 == 0/ ((struct rw_semaphore *)self->__rwsem, RW_READER, 0),
		  fbt:vmlinux:down_read_trylock:return /self->__rwsem != 0 && (int)arg1 == 1/ ((struct rw_semaphore *)self->__rwsem, RW_READER, 0),
		  fbt:vmlinux:down_write:return /self->__rwsem != 0/ ((struct rw_semaphore *)self->__rwsem, RW_WRITER, 0),
		  fbt:vmlinux:down_write_killable:return /self->__rwsem != 0 && (int)arg1 == 0/ ((struct rw_semaphore *)self->__rwsem, RW_WRITER, 0),
		  fbt:vmlinux:down_write_trylock:return /self->__rwsem != 0 && (int)arg1 == 1/ ((struct rw_semaphore *)self->__rwsem, RW_WRITER, 0),
		  fbt:vmlinux:_raw_read_lock*:entry /__spins_push[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:_raw_read_trylock*:entry /__spins_push[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:_raw_read_lock*:return /__spins_pop/ ((struct rw_semaphore *)__spins_popped, RW_READER, 1),
		  fbt:vmlinux:_raw_read_trylock*:return /__spins_pop && (int)arg1 == 1/ ((struct rw_semaphore *)__spins_popped, RW_READER, 1),
		  fbt:vmlinux:_raw_write_lock*:entry /__spins_push[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:_raw_write_trylock*:entry /__spins_push[arg0]/ (NULL, 0, 0),
		  fbt:vmlinux:_raw_write_lock*:return /__spins_pop/ ((struct rw_semaphore *)__spins_popped, RW_WRITER, 1),
		  fbt:vmlinux:_raw_write_trylock*:return /__spins_pop && (int)arg1 == 1/ ((struct rw_semaphore *)__spins_popped, RW_WRITER, 1)
		|| "a lock that is free is taken without a tracepoint: lockstat:::rw-block and rw-spin fire where a thread had to wait";
	probe rw__release(struct rw_semaphore *lock, int how, int spins)
		= fbt:vmlinux:up_read:entry ((struct rw_semaphore *)arg0, RW_READER, 0),
		  fbt:vmlinux:up_write:entry ((struct rw_semaphore *)arg0, RW_WRITER, 0),
		  fbt:vmlinux:_raw_read_unlock*:entry ((struct rw_semaphore *)arg0, RW_READER, 1),
		  fbt:vmlinux:_raw_write_unlock*:entry ((struct rw_semaphore *)arg0, RW_WRITER, 1)
		|| "a lock that is free is taken without a tracepoint: lockstat:::rw-block and rw-spin fire where a thread had to wait";
	probe rw__downgrade(struct rw_semaphore *lock)
		= fbt:vmlinux:downgrade_write:entry ((struct rw_semaphore *)arg0)
		|| "no tracepoint says that a writer becomes a reader: lockstat:::rw-block fires where a thread had to wait";
	probe rw__upgrade(struct rw_semaphore *lock)
		= "a reader of Linux cannot become a writer";
	probe thread__spin(struct raw_spinlock *lock, uint64_t ns)
		= "run queues have spin locks like others: lockstat:::spin-spin";
};

#pragma D attributes Evolving/Evolving/Common provider lockstat provider
#pragma D attributes Private/Private/Unknown provider lockstat module
#pragma D attributes Private/Private/Unknown provider lockstat function
#pragma D attributes Evolving/Evolving/Common provider lockstat name
#pragma D attributes Evolving/Evolving/Common provider lockstat args
