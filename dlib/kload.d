/* load averages over 1, 5 and 15 minutes, in 65536ths; Linux has 2048ths (include/linux/sched/loadavg.h) */
inline int __ksym_hp_avenrun[int I] = `avenrun[I] << 5;
