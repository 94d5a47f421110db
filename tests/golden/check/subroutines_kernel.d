/* Subroutines on JSON, memory, processes and locks; chill() (d-language.md 5.3, 5.4) */
#pragma D option destructive
BEGIN
{
	trace(json("{}", "a.b[1]")); trace(memstr((void *)arg0, '-', 10)); trace(progenyof(pid));
	trace(mutex_owned((void *)arg0)); trace((uint64_t)mutex_owner((void *)arg0));
	trace(mutex_type_adaptive((void *)arg0)); trace(mutex_type_spin((void *)arg0));
	trace(rw_read_held((void *)arg0)); trace(rw_write_held((void *)arg0)); trace(rw_iswriter((void *)arg0));
	copyout((void *)arg0, arg1, 8); copyoutstr(execname, arg1, 16);
	chill(1000);
}
