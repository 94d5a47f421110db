/* SPDX-License-Identifier: MIT */
/*
 * Variables of other systems' kernels, where Linux has the number: a script's `freemem is the inline __ksym_freemem. A
 * variable of that name in the kernel itself would stay hidden; Linux has none of these.
 */

/* memory, in pages */
inline uint64_t __ksym_physmem = __phys_pages;
inline uint64_t __ksym_physinstalled = __phys_pages;
inline uint64_t __ksym__pagesize = __page_size;
inline int __ksym__pageshift = __page_size == 4096 ? 12 : __page_size == 16384 ? 14 : 16;

/* processors, and time in ticks since boot (what the machine slept is not counted) */
inline int __ksym_ncpus = __ncpus_online;
inline int __ksym_ncpus_online = __ncpus_online;
inline int __ksym_max_ncpus = __ncpus;
inline int __ksym_hz = 1000000000 / __tick;
inline int __ksym_usec_per_tick = __tick / 1000;
inline int __ksym_nsec_per_tick = __tick;
inline int64_t __ksym_lbolt = timestamp / __tick;
inline int64_t __ksym_lbolt64 = timestamp / __tick;

/*
 * Load averages of 1, 5 and 15 minutes. hp_avenrun[] has 16 bits behind the binary point, avenrun[] of Linux has 11
 * (FSHIFT, Linux include/linux/sched/loadavg.h). Where the kernel lists functions only, x86-64 code of get_avenrun(),
 * which reads avenrun[0] first, says where it is: "mov rax, [rip + D]" (48 8b 05 D) stands behind the 5 bytes of ftrace,
 * before which an endbr64 may be. Elsewhere the address is 0, and reading it is a fault.
 */
inline uintptr_t __load_function = __either((uintptr_t)&`get_avenrun, 0);
inline uintptr_t __load_code = __load_function + (*(uint32_t *)__load_function == 0xfa1e0ff3 ? 9 : 5);
inline uintptr_t __load_at = (*(uint32_t *)__load_code & 0xffffff) == 0x058b48 ? __load_code + 7 + *(int *)(__load_code + 3) : 0;
inline int __ksym_hp_avenrun[int I] = __either(`avenrun[I], ((unsigned long *)__load_at)[I]) << 5;

/* of the system that dtrace runs in */
struct utsname {
	string sysname;
	string nodename; /* when dtrace began */
	string release;
	string version;
	string machine;
};
translator struct utsname <struct task_struct *T> {
	sysname = __uts_sysname;
	nodename = __uts_nodename;
	release = __uts_release;
	version = __uts_version;
	machine = __cpu_type;
};
inline struct utsname __ksym_utsname = xlate <struct utsname> (curthread);
