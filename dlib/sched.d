/* SPDX-License-Identifier: MIT */
/* CPUs: cpuinfo_t, curcpu, and what older scripts call its parts. */
#pragma D depends_on library cpus.d

typedef int chipid_t;
typedef int psetid_t;
typedef int lgrp_id_t;

inline int P_OFFLINE = 1;
inline int P_ONLINE = 2;

typedef struct processor_info {
	int pi_state;               /* one that runs a clause is P_ONLINE */
	char pi_processor_type[16]; /* as uname -m says it */
	char pi_fputypes[32];       /* Linux does not name them */
	int pi_clock;               /* MHz of the first CPU; 0: not known */
} processor_info_t;

translator processor_info_t <processorid_t C> {
	pi_state = P_ONLINE;
	pi_processor_type = __cpu_type;
	pi_fputypes = "";
	pi_clock = __cpu_mhz;
};

typedef struct cpuinfo {
	processorid_t cpu_id;
	psetid_t cpu_pset;   /* Linux has no processor sets: 0 */
	chipid_t cpu_chip;   /* physical package */
	lgrp_id_t cpu_lgrp;  /* NUMA node */
	processor_info_t cpu_info;
} cpuinfo_t;

/* from the number of a CPU */
translator cpuinfo_t <processorid_t C> {
	cpu_id = C;
	cpu_pset = 0;
	cpu_chip = __cpu_chip[C];
	cpu_lgrp = __cpu_node[C];
	cpu_info = xlate<processor_info_t>(C);
};

/* from a run queue */
translator cpuinfo_t <struct rq *Q> {
	cpu_id = Q->cpu;
	cpu_pset = 0;
	cpu_chip = __cpu_chip[Q->cpu];
	cpu_lgrp = __cpu_node[Q->cpu];
	cpu_info = xlate<processor_info_t>((processorid_t)Q->cpu);
};

/*
 * The members of curcpu are computed where they are used. Whoever wants its address gets that of an entry
 * here, which is filled on the way: the compiler looks for an inline __at_TAG.
 */
cpuinfo_t __cpus[__ncpus];
inline cpuinfo_t *__at_cpuinfo[processorid_t C] =
	C < 0 || C >= __ncpus ? NULL :
	((__cpus + C)->cpu_id = C, (__cpus + C)->cpu_chip = __cpu_chip[C], (__cpus + C)->cpu_lgrp = __cpu_node[C],
	 (__cpus + C)->cpu_info.pi_state = P_ONLINE, (__cpus + C)->cpu_info.pi_clock = __cpu_mhz,
	 *(uint32_t *)((__cpus + C)->cpu_info.pi_processor_type + 0) = __cpu_type_word[0],
	 *(uint32_t *)((__cpus + C)->cpu_info.pi_processor_type + 4) = __cpu_type_word[1],
	 *(uint32_t *)((__cpus + C)->cpu_info.pi_processor_type + 8) = __cpu_type_word[2],
	 *(uint32_t *)((__cpus + C)->cpu_info.pi_processor_type + 12) = __cpu_type_word[3],
	 __cpus + C);

inline cpuinfo_t *curcpu = xlate<cpuinfo_t *>((processorid_t)cpu);
inline psetid_t pset = curcpu->cpu_pset;
inline chipid_t chip = curcpu->cpu_chip;
inline lgrp_id_t lgrp = curcpu->cpu_lgrp;
