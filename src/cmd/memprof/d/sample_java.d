/* SPDX-License-Identifier: MIT */
/*
 * memprof sample, of Java: buffers that threads have got to allocate from, and objects that are too
 * large for one, by the stack that has needed it; arg2 is the size.
 */
pid$target:libjvm.so:*AllocTracer*send_allocation_in_new_tlab*:entry,
pid$target:libjvm.so:*AllocTracer*send_allocation_outside_tlab*:entry
{
	@bytes[jstack()] = sum(arg2);
}
