/* CPUs: cpuinfo_t, curcpu, and what older scripts call its parts. */
#pragma D depends_on library cpus.d

typedef int chipid_t;
typedef int psetid_t;
typedef int lgrp_id_t;

typedef struct cpuinfo {
	processorid_t cpu_id;
	psetid_t cpu_pset;   /* Linux has no processor sets: 0 */
	chipid_t cpu_chip;   /* physical package */
	lgrp_id_t cpu_lgrp;  /* NUMA node */
} cpuinfo_t;

/* from the number of a CPU */
translator cpuinfo_t <processorid_t C> {
	cpu_id = C;
	cpu_pset = 0;
	cpu_chip = __cpu_chip[C];
	cpu_lgrp = __cpu_node[C];
};

/* from a run queue */
translator cpuinfo_t <struct rq *Q> {
	cpu_id = Q->cpu;
	cpu_pset = 0;
	cpu_chip = __cpu_chip[Q->cpu];
	cpu_lgrp = __cpu_node[Q->cpu];
};

/*
 * The members of curcpu are computed where they are used. Whoever wants its address gets that of an entry
 * here, which is filled on the way: the compiler looks for an inline __at_TAG.
 */
cpuinfo_t __cpus[__ncpus];
inline cpuinfo_t *__at_cpuinfo[processorid_t C] =
	C < 0 || C >= __ncpus ? NULL :
	((__cpus + C)->cpu_id = C, (__cpus + C)->cpu_chip = __cpu_chip[C], (__cpus + C)->cpu_lgrp = __cpu_node[C],
	 __cpus + C);

inline cpuinfo_t *curcpu = xlate<cpuinfo_t *>((processorid_t)cpu);
inline psetid_t pset = curcpu->cpu_pset;
inline chipid_t chip = curcpu->cpu_chip;
inline lgrp_id_t lgrp = curcpu->cpu_lgrp;
