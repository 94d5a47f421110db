/* SPDX-License-Identifier: MIT */
/*
 * Provider plockstat: locks of programs, which are mutexes and readers-writer locks of the GNU C library from 2.34 on. Its
 * probes fire in each process that uses libc.so.6: plockstat$target:::mutex-block, plockstat*:::mutex-block for all.
 *
 * Whether a thread has to wait, and whether it may release the lock, is read from the lock when the function is called: the
 * structures below are those of pthread_mutex_t and pthread_rwlock_t (struct_mutex.h, struct_rwlock.h), which have not
 * changed since 2.30. A lock is acquired when the call has come back. Between the two, self-> variables say which lock it is.
 */
inline int __plock_is_32bit = curthread->thread_info.flags >> 29 & 1;	/* TIF_ADDR32 */
inline int __plock_tid = curthread->thread_pid->numbers[curthread->thread_pid->level].nr;
inline int __plock_int[uintptr_t A] = copyinint(A, 0);	/* memory that nobody has touched is a free lock */

/* pthread_mutex_t: the futex, how often the owner holds the lock, the owner, its users, the kind */
inline int __plock_kind[uintptr_t L] = __plock_int[__plock_is_32bit ? L + 12 : L + 16];
inline int __plock_type[uintptr_t L] = __plock_kind[L] & 3;
inline int __PLOCK_RECURSIVE = 1;
inline int __PLOCK_ERRORCHECK = 2;
inline int __PLOCK_ROBUST = 16;
inline int __plock_is_own[uintptr_t L] = __plock_int[L + 8] == __plock_tid;
inline int __plock_is_again[uintptr_t L] = __plock_type[L] == __PLOCK_RECURSIVE && __plock_int[L + 4] > 1;
inline int __plock_must_wait[uintptr_t L] =
	__plock_int[L] != 0 &&
	!((__plock_type[L] == __PLOCK_RECURSIVE || __plock_type[L] == __PLOCK_ERRORCHECK) && __plock_is_own[L]);
inline int __plock_may_release[uintptr_t L] =
	(__plock_type[L] != __PLOCK_RECURSIVE && __plock_type[L] != __PLOCK_ERRORCHECK && !(__plock_kind[L] & __PLOCK_ROBUST)) ||
	__plock_is_own[L];

/* pthread_rwlock_t: bits 0 and 1 say that it is the writers' turn and that there is a writer; readers are counted from bit 3 on */
inline int __plock_preference[uintptr_t L] = __plock_is_32bit ? __plock_int[L + 24] & 0xff : __plock_int[L + 48];
inline int __plock_is_writer[uintptr_t L] = __plock_int[L + (__plock_is_32bit ? 28 : 24)] == __plock_tid;
inline int __plock_reader_waits[uintptr_t L] =
	!__plock_is_writer[L] &&
	((__plock_int[L] & 3) == 3 || (__plock_preference[L] == 2 && __plock_int[L] & 2 && __plock_int[L] >> 3));
inline int __plock_writer_waits[uintptr_t L] =
	!__plock_is_writer[L] && (__plock_int[L] & 2 || (!(__plock_int[L] & 1) && __plock_int[L] >> 3));

/* The lock that the thread asks for, the condition variable's mutex, and the lock that it waits for; the notes return 0. */
self uintptr_t __plock, __plock_cond, __plock_waits;
inline int __plock_note[uintptr_t L] = (self->__plock = L, 0);
inline int __plock_note_cond[uintptr_t L] = (self->__plock_cond = L, 0);
inline int __plock_note_wait[uintptr_t L, int W] = (self->__plock_waits = W ? L : 0, 0);

/* EOWNERDEAD: the lock was acquired, and its last owner has died */
inline int __plock_got[int E] = E == 0 || E == 130;

provider plockstat {
	probe mutex__acquire(uintptr_t lock, int recursive, int spins)
		= pid:libc.so.6:pthread_mutex_lock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_mutex_trylock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_mutex_timedlock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_mutex_clocklock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_cond_wait:entry /__plock_note_cond[arg1]/ (0, 0, 0),
		  pid:libc.so.6:pthread_cond_timedwait:entry /__plock_note_cond[arg1]/ (0, 0, 0),
		  pid:libc.so.6:pthread_cond_clockwait:entry /__plock_note_cond[arg1]/ (0, 0, 0),
		  pid:libc.so.6:pthread_mutex_lock:returned /__plock_got[(int)arg1] && self->__plock/
			(self->__plock, __plock_is_again[self->__plock], 0),
		  pid:libc.so.6:pthread_mutex_trylock:returned /__plock_got[(int)arg1] && self->__plock/
			(self->__plock, __plock_is_again[self->__plock], 0),
		  pid:libc.so.6:pthread_mutex_timedlock:returned /__plock_got[(int)arg1] && self->__plock/
			(self->__plock, __plock_is_again[self->__plock], 0),
		  pid:libc.so.6:pthread_mutex_clocklock:returned /__plock_got[(int)arg1] && self->__plock/
			(self->__plock, __plock_is_again[self->__plock], 0),
		  /* a thread may be cancelled here: a return probe of the kernel would keep its stack from being unwound */
		  pid:libc.so.6:pthread_cond_wait:return /((int)arg1 == 0 || (int)arg1 == 110) && self->__plock_cond/
			(self->__plock_cond, 0, 0),
		  pid:libc.so.6:pthread_cond_timedwait:return /((int)arg1 == 0 || (int)arg1 == 110) && self->__plock_cond/
			(self->__plock_cond, 0, 0),
		  pid:libc.so.6:pthread_cond_clockwait:return /((int)arg1 == 0 || (int)arg1 == 110) && self->__plock_cond/
			(self->__plock_cond, 0, 0)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe mutex__release(uintptr_t lock, int recursive)
		= pid:libc.so.6:pthread_mutex_unlock:entry /__plock_may_release[arg0]/ (arg0, __plock_is_again[arg0]),
		  pid:libc.so.6:pthread_cond_wait:entry /__plock_may_release[arg1]/ (arg1, 0),
		  pid:libc.so.6:pthread_cond_timedwait:entry /__plock_may_release[arg1]/ (arg1, 0),
		  pid:libc.so.6:pthread_cond_clockwait:entry /__plock_may_release[arg1]/ (arg1, 0)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe mutex__block(uintptr_t lock)
		= pid:libc.so.6:pthread_mutex_lock:entry /__plock_must_wait[arg0]/ (arg0),
		  pid:libc.so.6:pthread_mutex_timedlock:entry /__plock_must_wait[arg0]/ (arg0),
		  pid:libc.so.6:pthread_mutex_clocklock:entry /__plock_must_wait[arg0]/ (arg0)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe mutex__blocked(uintptr_t lock, int acquired)
		= pid:libc.so.6:pthread_mutex_lock:entry /__plock_note_wait[arg0, __plock_must_wait[arg0]]/ (0, 0),
		  pid:libc.so.6:pthread_mutex_timedlock:entry /__plock_note_wait[arg0, __plock_must_wait[arg0]]/ (0, 0),
		  pid:libc.so.6:pthread_mutex_clocklock:entry /__plock_note_wait[arg0, __plock_must_wait[arg0]]/ (0, 0),
		  pid:libc.so.6:pthread_mutex_lock:returned /self->__plock_waits/ (self->__plock_waits, __plock_got[(int)arg1]),
		  pid:libc.so.6:pthread_mutex_timedlock:returned /self->__plock_waits/ (self->__plock_waits, __plock_got[(int)arg1]),
		  pid:libc.so.6:pthread_mutex_clocklock:returned /self->__plock_waits/ (self->__plock_waits, __plock_got[(int)arg1])
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe mutex__error(uintptr_t lock, int error)
		= pid:libc.so.6:pthread_mutex_lock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_mutex_trylock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_mutex_timedlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_mutex_clocklock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_mutex_unlock:entry /!__plock_may_release[arg0]/ (arg0, 1),
		  pid:libc.so.6:pthread_mutex_lock:returned /!__plock_got[(int)arg1] && self->__plock/ (self->__plock, (int)arg1),
		  /* 16: EBUSY, the answer that the caller has asked for */
		  pid:libc.so.6:pthread_mutex_trylock:returned /!__plock_got[(int)arg1] && (int)arg1 != 16 && self->__plock/
			(self->__plock, (int)arg1),
		  pid:libc.so.6:pthread_mutex_timedlock:returned /!__plock_got[(int)arg1] && self->__plock/ (self->__plock, (int)arg1),
		  pid:libc.so.6:pthread_mutex_clocklock:returned /!__plock_got[(int)arg1] && self->__plock/ (self->__plock, (int)arg1)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe mutex__spin(uintptr_t lock)
		= "the C library spins in the middle of pthread_mutex_lock(), for adaptive mutexes only: mutex-block fires for these, too";
	probe mutex__spun(uintptr_t lock, int acquired, int spins)
		= "the C library spins in the middle of pthread_mutex_lock(), for adaptive mutexes only: mutex-blocked fires for these, too";

	probe rw__acquire(uintptr_t lock, int writer)
		= pid:libc.so.6:pthread_rwlock_rdlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_tryrdlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_timedrdlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_clockrdlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_wrlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_trywrlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_timedwrlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_clockwrlock:entry /__plock_note[arg0]/ (0, 0),
		  pid:libc.so.6:pthread_rwlock_rdlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 0),
		  pid:libc.so.6:pthread_rwlock_tryrdlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 0),
		  pid:libc.so.6:pthread_rwlock_timedrdlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 0),
		  pid:libc.so.6:pthread_rwlock_clockrdlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 0),
		  pid:libc.so.6:pthread_rwlock_wrlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 1),
		  pid:libc.so.6:pthread_rwlock_trywrlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 1),
		  pid:libc.so.6:pthread_rwlock_timedwrlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 1),
		  pid:libc.so.6:pthread_rwlock_clockwrlock:returned /(int)arg1 == 0 && self->__plock/ (self->__plock, 1)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe rw__release(uintptr_t lock, int writer)
		= pid:libc.so.6:pthread_rwlock_unlock:entry (arg0, __plock_is_writer[arg0])
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe rw__block(uintptr_t lock, int writer)
		= pid:libc.so.6:pthread_rwlock_rdlock:entry /__plock_reader_waits[arg0]/ (arg0, 0),
		  pid:libc.so.6:pthread_rwlock_timedrdlock:entry /__plock_reader_waits[arg0]/ (arg0, 0),
		  pid:libc.so.6:pthread_rwlock_clockrdlock:entry /__plock_reader_waits[arg0]/ (arg0, 0),
		  pid:libc.so.6:pthread_rwlock_wrlock:entry /__plock_writer_waits[arg0]/ (arg0, 1),
		  pid:libc.so.6:pthread_rwlock_timedwrlock:entry /__plock_writer_waits[arg0]/ (arg0, 1),
		  pid:libc.so.6:pthread_rwlock_clockwrlock:entry /__plock_writer_waits[arg0]/ (arg0, 1)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe rw__blocked(uintptr_t lock, int writer, int acquired)
		= pid:libc.so.6:pthread_rwlock_rdlock:entry /__plock_note_wait[arg0, __plock_reader_waits[arg0]]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_timedrdlock:entry /__plock_note_wait[arg0, __plock_reader_waits[arg0]]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_clockrdlock:entry /__plock_note_wait[arg0, __plock_reader_waits[arg0]]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_wrlock:entry /__plock_note_wait[arg0, __plock_writer_waits[arg0]]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_timedwrlock:entry /__plock_note_wait[arg0, __plock_writer_waits[arg0]]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_clockwrlock:entry /__plock_note_wait[arg0, __plock_writer_waits[arg0]]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_rdlock:returned /self->__plock_waits/ (self->__plock_waits, 0, (int)arg1 == 0),
		  pid:libc.so.6:pthread_rwlock_timedrdlock:returned /self->__plock_waits/ (self->__plock_waits, 0, (int)arg1 == 0),
		  pid:libc.so.6:pthread_rwlock_clockrdlock:returned /self->__plock_waits/ (self->__plock_waits, 0, (int)arg1 == 0),
		  pid:libc.so.6:pthread_rwlock_wrlock:returned /self->__plock_waits/ (self->__plock_waits, 1, (int)arg1 == 0),
		  pid:libc.so.6:pthread_rwlock_timedwrlock:returned /self->__plock_waits/ (self->__plock_waits, 1, (int)arg1 == 0),
		  pid:libc.so.6:pthread_rwlock_clockwrlock:returned /self->__plock_waits/ (self->__plock_waits, 1, (int)arg1 == 0)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";

	probe rw__error(uintptr_t lock, int writer, int error)
		= pid:libc.so.6:pthread_rwlock_rdlock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_timedrdlock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_clockrdlock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_wrlock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_timedwrlock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_clockwrlock:entry /__plock_note[arg0]/ (0, 0, 0),
		  pid:libc.so.6:pthread_rwlock_rdlock:returned /(int)arg1 != 0 && self->__plock/ (self->__plock, 0, (int)arg1),
		  pid:libc.so.6:pthread_rwlock_timedrdlock:returned /(int)arg1 != 0 && self->__plock/ (self->__plock, 0, (int)arg1),
		  pid:libc.so.6:pthread_rwlock_clockrdlock:returned /(int)arg1 != 0 && self->__plock/ (self->__plock, 0, (int)arg1),
		  pid:libc.so.6:pthread_rwlock_wrlock:returned /(int)arg1 != 0 && self->__plock/ (self->__plock, 1, (int)arg1),
		  pid:libc.so.6:pthread_rwlock_timedwrlock:returned /(int)arg1 != 0 && self->__plock/ (self->__plock, 1, (int)arg1),
		  pid:libc.so.6:pthread_rwlock_clockwrlock:returned /(int)arg1 != 0 && self->__plock/ (self->__plock, 1, (int)arg1)
		|| "the process has no libc.so.6 of the GNU C library 2.34 or later with these functions";
};

#pragma D attributes Evolving/Evolving/ISA provider plockstat provider
#pragma D attributes Private/Private/Unknown provider plockstat module
#pragma D attributes Private/Private/Unknown provider plockstat function
#pragma D attributes Evolving/Evolving/ISA provider plockstat name
#pragma D attributes Evolving/Evolving/ISA provider plockstat args
