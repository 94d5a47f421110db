/* SPDX-License-Identifier: MIT */
/*
 * memprof sample, of Java: buffers that threads have got to allocate from, and objects that are too
 * large for one, by the stack that has needed it. arg2 is the size; functions of HotSpot 8, whose
 * names go on with "_event", have it in arg1.
 */
pid$target:libjvm.so:*AllocTracer*send_allocation_in_new_tlab*:entry,
pid$target:libjvm.so:*AllocTracer*send_allocation_outside_tlab*:entry
/strstr(probefunc, "tlab_event") == NULL/
{
	@bytes[jstack()] = sum(arg2);
}

pid$target:libjvm.so:*AllocTracer*send_allocation_in_new_tlab_event*:entry,
pid$target:libjvm.so:*AllocTracer*send_allocation_outside_tlab_event*:entry
{
	@bytes[jstack()] = sum(arg1);
}
