/* SPDX-License-Identifier: MIT */
/* Free memory in pages, as `freemem of other systems. */

/*
 * The zones of all nodes stand in the list from which node 0 allocates, behind them is NULL; the way there is that of the
 * current thread's memory control group. A machine has up to four zones a node; those behind the sixteenth are not counted.
 */
inline struct pglist_data *__node_0 =
	((struct mem_cgroup *)curthread->cgroups->subsys[memory_cgrp_id])->nodeinfo[0]->lruvec.pgdat;
inline struct zone *__zone[int I] = __node_0->node_zonelists[0]._zonerefs[I].zone;
inline uint64_t __zone_free[int I] = __zone[I]->vm_stat[NR_FREE_PAGES].counter;
inline uint64_t __ksym_freemem = __zone[0] == NULL ? 0 : __zone_free[0] + (__zone[1] == NULL ? 0 : __zone_free[1] +
	(__zone[2] == NULL ? 0 : __zone_free[2] + (__zone[3] == NULL ? 0 : __zone_free[3] +
	(__zone[4] == NULL ? 0 : __zone_free[4] + (__zone[5] == NULL ? 0 : __zone_free[5] +
	(__zone[6] == NULL ? 0 : __zone_free[6] + (__zone[7] == NULL ? 0 : __zone_free[7] +
	(__zone[8] == NULL ? 0 : __zone_free[8] + (__zone[9] == NULL ? 0 : __zone_free[9] +
	(__zone[10] == NULL ? 0 : __zone_free[10] + (__zone[11] == NULL ? 0 : __zone_free[11] +
	(__zone[12] == NULL ? 0 : __zone_free[12] + (__zone[13] == NULL ? 0 : __zone_free[13] +
	(__zone[14] == NULL ? 0 : __zone_free[14] + (__zone[15] == NULL ? 0 : __zone_free[15])))))))))))))));
