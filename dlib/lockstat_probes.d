/*
 * Provider lockstat: threads wait for locks of the kernel. args[1] are nanoseconds.
 *
 * Linux tells that a thread begins to wait, and that it has got the lock (contention_begin, contention_end; Linux 5.19). A
 * guard notes the time at the first, the probe fires at the second. A lock that is free is taken without a word: what
 * fires at every acquisition takes probes on kernel functions.
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

	probe adaptive__acquire(struct mutex *lock)
		= "a lock that is free is taken without a tracepoint: lockstat:::adaptive-block and adaptive-spin fire where a thread had to wait";
	probe adaptive__release(struct mutex *lock)
		= "a lock that is free is taken without a tracepoint: lockstat:::adaptive-block and adaptive-spin fire where a thread had to wait";
	probe spin__acquire(struct raw_spinlock *lock)
		= "a lock that is free is taken without a tracepoint: lockstat:::spin-spin fires where a CPU had to wait";
	probe spin__release(struct raw_spinlock *lock)
		= "a lock that is free is taken without a tracepoint: lockstat:::spin-spin fires where a CPU had to wait";
	probe rw__acquire(struct rw_semaphore *lock, int how)
		= "a lock that is free is taken without a tracepoint: lockstat:::rw-block and rw-spin fire where a thread had to wait";
	probe rw__release(struct rw_semaphore *lock, int how)
		= "a lock that is free is taken without a tracepoint: lockstat:::rw-block and rw-spin fire where a thread had to wait";
	probe rw__downgrade(struct rw_semaphore *lock)
		= "no tracepoint says that a writer becomes a reader: lockstat:::rw-block fires where a thread had to wait";
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
