/* SPDX-License-Identifier: MIT */
/*
 * Provider sysinfo: what the system counts. args[0] is what the counter of that name grows by; Linux keeps these counters
 * elsewhere, and args[1] and args[2] are NULL.
 */
#pragma D depends_on library vminfo.d
#pragma D depends_on library lockstat.d

provider sysinfo {
	probe bread(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_is_file[args[0]]/ (1, NULL, NULL);
	probe bwrite(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]]/ (1, NULL, NULL);
	probe bawrite(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && !(args[0]->bi_opf & 1 << __REQ_SYNC) && __bio_is_first[args[0]]/ (1, NULL, NULL);
	probe lread(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::block_touch_buffer (1, NULL, NULL);
	probe lwrite(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::block_dirty_buffer (1, NULL, NULL);
	probe phread(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && !__bio_reads_pages[args[0]]/ (1, NULL, NULL);
	probe phwrite(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]] && !__bio_writes_pages[args[0]]/ (1, NULL, NULL);

	probe idlethread(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::cpu_idle /args[0] != 0xffffffff/ (1, NULL, NULL);
	probe pswitch(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::sched_switch (1, NULL, NULL);
	/* a thread that could go on has to leave; the idle thread always could */
	probe inv_swtch(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::sched_switch /(args[0] || args[3] == 0) && args[1]->pid != 0/ (1, NULL, NULL);
	/* a thread of the kernel (PF_KTHREAD) with the name that those of interrupts have */
	probe intrblk(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::sched_switch /!args[0] && args[3] != 0 && args[1]->flags & 0x200000 && substr(args[1]->comm, 0, 4) == "irq/"/ (1, NULL, NULL);
	probe xcalls(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::ipi_send_cpu (1, NULL, NULL), rawtp:::ipi_send_cpumask (1, NULL, NULL)
		|| rawtp:::call_function_entry (1, NULL, NULL), rawtp:::call_function_single_entry (1, NULL, NULL), rawtp:::reschedule_entry (1, NULL, NULL);
	probe trap(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::page_fault_user (1, NULL, NULL), rawtp:::page_fault_kernel (1, NULL, NULL),
		  rawtp:::signal_generate /args[2] == curthread && (uintptr_t)args[1] > 1 && args[1]->si_code > 0 && args[1]->si_code < 0x80 &&
			(args[0] == 4 || args[0] == 5 || args[0] == 8)/ (1, NULL, NULL);

	probe nthreads(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::task_newtask (1, NULL, NULL);
	/* the kernel's own threads (PF_KTHREAD) are forked by nobody; CLONE_VFORK, CLONE_THREAD */
	probe sysfork(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::task_newtask /!(args[1] & 0x14000) && !(args[0]->flags & 0x200000)/ (1, NULL, NULL);
	probe sysvfork(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::task_newtask /(args[1] & 0x14000) == 0x4000 && !(args[0]->flags & 0x200000)/ (1, NULL, NULL);
	probe sysexec(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::execve:entry (1, NULL, NULL),
		  syscall::execveat:entry (1, NULL, NULL);
	probe procovf(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::fork:return /errno == 11/ (1, NULL, NULL);
	probe sysread(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::read:entry (1, NULL, NULL),
		  syscall::readv:entry (1, NULL, NULL),
		  syscall::pread64:entry (1, NULL, NULL),
		  syscall::preadv:entry (1, NULL, NULL),
		  syscall::preadv2:entry (1, NULL, NULL);
	probe syswrite(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::write:entry (1, NULL, NULL),
		  syscall::writev:entry (1, NULL, NULL),
		  syscall::pwrite64:entry (1, NULL, NULL),
		  syscall::pwritev:entry (1, NULL, NULL),
		  syscall::pwritev2:entry (1, NULL, NULL);
	probe readch(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::read:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::readv:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::pread64:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::preadv:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::preadv2:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL);
	probe writech(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::write:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::writev:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::pwrite64:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::pwritev:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL),
		  syscall::pwritev2:return /(int64_t)arg0 > 0/ (arg0, NULL, NULL);
	probe msg(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::msgsnd:entry (1, NULL, NULL),
		  syscall::msgrcv:entry (1, NULL, NULL);
	probe sema(uint64_t n, uint64_t *counter, struct rq *cpu)
		= syscall::semop:entry (1, NULL, NULL),
		  syscall::semtimedop:entry (1, NULL, NULL);

	probe mutex_adenters(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::contention_begin /(args[1] & (LCB_F_MUTEX | LCB_F_SPIN)) == (LCB_F_MUTEX | LCB_F_SPIN)/ (1, NULL, NULL)
		|| "locks have tracepoints since Linux 5.19";
	probe rw_rdfails(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::contention_begin /args[1] & LCB_F_READ/ (1, NULL, NULL)
		|| "locks have tracepoints since Linux 5.19";
	probe rw_wrfails(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::contention_begin /args[1] & LCB_F_WRITE/ (1, NULL, NULL)
		|| "locks have tracepoints since Linux 5.19";
	probe modload(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::module_load (1, NULL, NULL) || "this kernel has no loadable modules";
	probe modunload(uint64_t n, uint64_t *counter, struct rq *cpu)
		= rawtp:::module_free (1, NULL, NULL) || "this kernel has no loadable modules";

	probe namei(uint64_t n, uint64_t *counter, struct rq *cpu)
		= fbt:vmlinux:filename_lookup:entry (1, NULL, NULL), fbt:vmlinux:do_filp_open:entry (1, NULL, NULL)
		|| "no tracepoint says that a path is looked up: syscall::open:entry, syscall::stat:entry and syscall::access:entry have the paths";
	probe ufsdirblk(uint64_t n, uint64_t *counter, struct rq *cpu)
		= "Linux has no UFS of its own: sdt:ext4::: and sdt:xfs::: have the events of its file systems";
	probe ufsiget(uint64_t n, uint64_t *counter, struct rq *cpu)
		= "Linux has no UFS of its own: sdt:ext4::: and sdt:xfs::: have the events of its file systems";
	probe ufsinopage(uint64_t n, uint64_t *counter, struct rq *cpu)
		= "Linux has no UFS of its own: sdt:ext4::: and sdt:xfs::: have the events of its file systems";
	probe ufsipage(uint64_t n, uint64_t *counter, struct rq *cpu)
		= "Linux has no UFS of its own: sdt:ext4::: and sdt:xfs::: have the events of its file systems";
};

#pragma D attributes Evolving/Evolving/ISA provider sysinfo provider
#pragma D attributes Private/Private/Unknown provider sysinfo module
#pragma D attributes Private/Private/Unknown provider sysinfo function
#pragma D attributes Evolving/Evolving/ISA provider sysinfo name
#pragma D attributes Private/Private/ISA provider sysinfo args
