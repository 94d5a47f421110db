/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the record that reports a fault to the consumer.
 */
#include "rt/numbers.h"

u64 rt_fault_record(struct rt_mach *m)
{
	struct rt_rec_fault r;
	u32 cpu;

	if (!m)
		return 0;
	cpu = m->cpu;
	r.rec.clause = RT_REC_FAULT;
	r.rec.probe = m->probe;
	r.rec.time = m->timestamp;
	if (r.rec.time == 0)
		r.rec.time = m->timestamp = bpf_ktime_get_ns();
	r.fault = m->fault;
	r.epid = m->epid;
	r.pid = cfg.pidns.level ? process_number(bpf_get_current_task())
				: bpf_get_current_pid_tgid() >> 32;
	r.in_scratch =
		cfg.reads && m->fault.kind == FAULT_BADADDR && in_scratch_map(m, m->fault.value);
	/*
	 * An address of the kernel is not told to who may not read there, nor one that was to be
	 * read as such: it may be a sum with one.
	 */
	if ((cfg.reads & RT_READS_OWN) && m->fault.kind != FAULT_BADINDEX &&
	    ((s64)m->fault.value < 0 || m->fault.kind == FAULT_KPRIV))
		r.fault.value = m->fault.value = 0;
	/*
	 * After exit() no later record wakes the consumer, so the record of a fault behind exit()
	 * must do that.
	 */
	if (rt_ring_output(cpu, &r, sizeof(r), m->exits ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP) ==
	    0)
		return 0;
	if (cpu < cfg.ncpus)
		__sync_fetch_and_add(&val_control.cpu[cpu].drops, 1);
	return 0;
}
