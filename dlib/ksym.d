/* SPDX-License-Identifier: MIT */
/*
 * Types of variables of the kernel, of which BTF knows only those that every CPU has: `jiffies is read as what
 * __ksym_jiffies is declared to be. Linux include/linux/jiffies.h, sched/loadavg.h, mm.h, swap.h, panic.h, init.h.
 */
extern volatile unsigned long __ksym_jiffies;
extern uint64_t __ksym_jiffies_64;
extern unsigned long __ksym_loops_per_jiffy;
extern unsigned int __ksym_cpu_khz;
extern unsigned int __ksym_tsc_khz;
extern unsigned int __ksym_nr_cpu_ids;
extern int __ksym_nr_threads;
extern unsigned long __ksym_total_forks;
extern unsigned long __ksym_avenrun[3];
extern unsigned long __ksym__totalram_pages;
extern unsigned long __ksym_totalreserve_pages;
extern unsigned long __ksym_max_pfn;
extern unsigned long __ksym_max_low_pfn;
extern unsigned long __ksym_min_low_pfn;
extern long __ksym_nr_swap_pages;
extern long __ksym_total_swap_pages;
extern int __ksym_vm_swappiness;
extern int __ksym_sysctl_overcommit_memory;
extern int __ksym_panic_timeout;
extern int __ksym_panic_on_oops;
extern int __ksym_oops_in_progress;
extern unsigned long __ksym_tainted_mask;
extern char *__ksym_saved_command_line;
extern char __ksym_linux_banner[160];
extern int __ksym_system_state;
