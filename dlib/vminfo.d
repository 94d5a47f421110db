/* SPDX-License-Identifier: MIT */
/*
 * Provider vminfo: memory is asked for, filled, read from devices and written to them, and taken back. args[0] is what the
 * counter of that name grows by; Linux keeps these counters elsewhere, and args[1] is NULL.
 */
#pragma D depends_on library io.d

/* error codes of page faults, Linux arch/x86/include/asm/trap_pf.h: 1 the page is there, 2 a write; the first half is user's */
inline int __pf_is_user[unsigned long A] = (int64_t)A >= 0;

/* Requests for pages of files and of swap; what devices below (device-mapper) get of them is marked as a clone. */
inline int __bio_is_first[struct bio *B] = !(B->bi_flags & 1 << BIO_CLONED);
inline int __bio_writes[struct bio *B] = B->bi_opf & 1;
inline uint64_t __bio_pages[struct bio *B] = B->bi_iter.bi_size / __page_size;
inline uint64_t __page_flags[struct page *P] = P == NULL ? 0 : __either(P->flags.f, P->flags);
/*
 * Each of these follows the way from a request to its file, which is long, once: this->__mapping, this->__page and this->__host
 * are what is found on it.
 */
inline int __mapping_is_file[uintptr_t M] = (this->__mapping = M, this->__mapping != 0 && !(this->__mapping & 3));
/* of a file that __mapping_is_file[] has found: whether it may be executed; devices are not files here */
inline int __host_is_exec =
	(this->__host = ((struct address_space *)this->__mapping)->host,
	 (this->__host->i_mode & 0170000) != 0060000 && this->__host->i_mode & 0111);
inline int __bio_is_file[struct bio *B] = __mapping_is_file[__bio_mapping[B]];
/* pages of a file that may be executed, and of one that may not */
inline int __bio_is_exec[struct bio *B] = __bio_is_file[B] && __host_is_exec;
inline int __bio_is_plain[struct bio *B] = __bio_is_file[B] && !__host_is_exec;
/* what is written to swap is marked; memory of processes that is read from there has no mapping yet */
inline int __bio_to_swap[struct bio *B] = (B->bi_opf & 1 << __REQ_SWAP) != 0;
inline int __page_is_new_anon = (__page_flags[this->__page] & 1 << PG_swapbacked) != 0;
inline int __bio_from_swap[struct bio *B] = __bio_page_mapping[B] == 0 && __page_is_new_anon;
/* pages of files and of swap */
inline int __bio_reads_pages[struct bio *B] =
	(this->__mapping = __bio_page_mapping[B],
	 this->__mapping == 0 ? __page_is_new_anon : __mapping_is_file[__device_mapping[this->__mapping]]);
inline int __bio_writes_pages[struct bio *B] = __bio_to_swap[B] || __bio_is_file[B];

provider vminfo {
	probe as_fault(uint64_t n, uint64_t *counter)
		= rawtp:::page_fault_user /!(args[2] & 1)/ (1, NULL),
		  rawtp:::page_fault_kernel /!(args[2] & 1) && __pf_is_user[args[0]]/ (1, NULL)
		|| cpc:::page_faults-all-1 (1, NULL);
	probe kernel_asflt(uint64_t n, uint64_t *counter) = rawtp:::page_fault_kernel /!__pf_is_user[args[0]]/ (1, NULL)
		|| "this processor's faults have no tracepoint: cpc:::page_faults-kernel-1 counts those in the kernel";
	/* a page that is there is written to, and may be when it is one's own */
	probe cow_fault(uint64_t n, uint64_t *counter)
		= rawtp:::page_fault_user /(args[2] & 3) == 3/ (1, NULL),
		  rawtp:::page_fault_kernel /(args[2] & 3) == 3 && __pf_is_user[args[0]]/ (1, NULL)
		|| "this processor's faults have no tracepoint: cpc:::minor_faults-all-1 counts them, too";
	probe prot_fault(uint64_t n, uint64_t *counter)
		= rawtp:::signal_generate /args[0] == 11 && (uintptr_t)args[1] > 1 && args[1]->si_code == 2 && args[2] == curthread/ (1, NULL);
	probe maj_fault(uint64_t n, uint64_t *counter) = cpc:::major_faults-all-1 (1, NULL);
	/* a page for a process, filled with zeros: Linux include/linux/gfp_types.h, __GFP_ZERO and __GFP_MOVABLE */
	probe zfod(uint64_t n, uint64_t *counter) = rawtp:::mm_page_alloc /((uint64_t)args[2] & 0x108) == 0x108 && args[0] != NULL/ (1 << args[1], NULL);
	/* pages around a fault were in memory */
	probe pgrec(uint64_t n, uint64_t *counter) = rawtp:::mm_filemap_map_pages (1, NULL)
		|| fbt:vmlinux:filemap_map_pages:entry (1, NULL)
		|| "no tracepoint says that a page was in memory (Linux 6.12 does): cpc:::minor_faults-all-1 counts all faults that waited for nothing";

	probe pgin(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_reads_pages[args[0]]/ (1, NULL);
	probe pgpgin(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_reads_pages[args[0]]/ (__bio_pages[args[0]], NULL);
	probe fspgin(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_is_plain[args[0]]/ (__bio_pages[args[0]], NULL);
	probe execpgin(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_is_exec[args[0]]/ (__bio_pages[args[0]], NULL);
	probe anonpgin(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_from_swap[args[0]]/ (__bio_pages[args[0]], NULL);
	probe pgswapin(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /!__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_from_swap[args[0]]/ (__bio_pages[args[0]], NULL);
	probe pgout(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_writes_pages[args[0]]/ (1, NULL);
	probe pgpgout(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_writes_pages[args[0]]/ (__bio_pages[args[0]], NULL);
	probe fspgout(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_is_plain[args[0]]/ (__bio_pages[args[0]], NULL);
	probe execpgout(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_is_exec[args[0]]/ (__bio_pages[args[0]], NULL);
	probe anonpgout(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_to_swap[args[0]]/ (__bio_pages[args[0]], NULL);
	probe pgswapout(uint64_t n, uint64_t *counter)
		= rawtp:::block_bio_queue /__bio_writes[args[0]] && __bio_is_first[args[0]] && __bio_to_swap[args[0]]/ (__bio_pages[args[0]], NULL);

	probe dfree(uint64_t n, uint64_t *counter) = rawtp:::mm_vmscan_lru_shrink_inactive /args[2] > 0/ (args[2], NULL);
	probe anonfree(uint64_t n, uint64_t *counter) = rawtp:::mm_vmscan_lru_shrink_inactive /args[2] > 0 && args[5] == 0/ (args[2], NULL);
	probe fsfree(uint64_t n, uint64_t *counter) = rawtp:::mm_vmscan_lru_shrink_inactive /args[2] > 0 && args[5] != 0/ (args[2], NULL);
	probe scan(uint64_t n, uint64_t *counter) = rawtp:::mm_vmscan_lru_isolate /args[3] > 0/ (args[3], NULL);
	/* for the whole machine by kswapd, by a thread that finds no free page, and in a control group that has reached its limit */
	probe pgrrun(uint64_t n, uint64_t *counter)
		= rawtp:::mm_vmscan_kswapd_wake (1, NULL), rawtp:::mm_vmscan_direct_reclaim_begin (1, NULL), rawtp:::mm_vmscan_memcg_reclaim_begin (1, NULL)
		|| rawtp:::mm_vmscan_kswapd_wake (1, NULL), rawtp:::mm_vmscan_direct_reclaim_begin (1, NULL);

	probe execfree(uint64_t n, uint64_t *counter)
		= "Linux does not say which freed pages belonged to programs: they are among vminfo:::fsfree";
	probe hat_fault(uint64_t n, uint64_t *counter)
		= "Linux resolves all faults in one place: vminfo:::as_fault counts them";
	probe rev(uint64_t n, uint64_t *counter)
		= "Linux has no clock hand: vminfo:::scan counts the pages it looks at";
	probe pgfrec(uint64_t n, uint64_t *counter)
		= "Linux takes no page back from its free list";
	probe swapin(uint64_t n, uint64_t *counter)
		= "Linux swaps pages, not whole processes: vminfo:::anonpgin";
	probe swapout(uint64_t n, uint64_t *counter)
		= "Linux swaps pages, not whole processes: vminfo:::anonpgout";
	probe softlock(uint64_t n, uint64_t *counter)
		= "no tracepoint says that pages are locked for I/O: syscall::mlock*:entry shows what programs lock";
};

#pragma D attributes Evolving/Evolving/ISA provider vminfo provider
#pragma D attributes Private/Private/Unknown provider vminfo module
#pragma D attributes Private/Private/Unknown provider vminfo function
#pragma D attributes Evolving/Evolving/ISA provider vminfo name
#pragma D attributes Private/Private/ISA provider vminfo args
