/* cpuinfo_t (d-language.md 10.8): of the CPU that a firing is on. */
#pragma D option quiet
cpuinfo_t *declared;
BEGIN
{
	printf("%d %d %d %d\n", curcpu->cpu_id == cpu, curcpu->cpu_pset == pset, curcpu->cpu_chip == chip,
	    curcpu->cpu_lgrp == lgrp);
	/* as a value: assigned, cast, compared, as a key, printed whole */
	p = curcpu; this->q = (cpuinfo_t *)curcpu; declared = curcpu; n = (uint64_t)curcpu; self->x = curcpu;
	printf("%d %d %d %d %d\n", p->cpu_id == cpu, this->q == declared, n == (uint64_t)p, n >> 63,
	    declared->cpu_chip == chip && self->x->cpu_lgrp == lgrp && (*curcpu).cpu_id == cpu);
	@[curcpu == NULL ? 1 : 0, curcpu == p] = count();
	trace((uint64_t)curcpu == n); print(*curcpu);
	printf("%d %s|%d %s\n", curcpu->cpu_info.pi_state == P_ONLINE, (string)curcpu->cpu_info.pi_fputypes, curcpu->cpu_info.pi_clock == declared->cpu_info.pi_clock,
	    curcpu->cpu_info.pi_processor_type == stringof(declared->cpu_info.pi_processor_type) && strlen((string)curcpu->cpu_info.pi_processor_type) > 3 ? "typed" : "not");
	printf("%d %d %d\n", pset, chip >= 0 && chip < 4096, lgrp >= 0 && lgrp < 4096);
	exit(0);
}
