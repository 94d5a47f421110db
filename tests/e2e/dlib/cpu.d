/* cpuinfo_t (d-language.md 10.8): of the CPU that a firing is on. */
#pragma D option quiet
BEGIN
{
	printf("%d %d %d %d\n", curcpu->cpu_id == cpu, curcpu->cpu_pset == pset, curcpu->cpu_chip == chip,
	    curcpu->cpu_lgrp == lgrp);
	printf("%d %d %d\n", pset, chip >= 0 && chip < 4096, lgrp >= 0 && lgrp < 4096);
	exit(0);
}
