/* Which CPUs are online. */
#include "base/vec.h"
#include "kernel/kernel.h"

uint32_t cpus_online(uint32_t **ret_cpus)
{
	CLEANUP(file) FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	uint32_t *cpus = NULL, n = 0, cap = 0;
	unsigned int lo, hi;

	while (f && fscanf(f, "%u", &lo) == 1) {
		if (fscanf(f, "-%u", &hi) != 1)
			hi = lo;
		for (unsigned int cpu = lo; cpu <= hi; cpu++) {
			cpus = vec_grow(cpus, &cap, n + 1, sizeof(*cpus));
			cpus[n++] = cpu;
		}
		if (fgetc(f) != ',')
			break;
	}
	*ret_cpus = cpus;
	return n;
}
