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
