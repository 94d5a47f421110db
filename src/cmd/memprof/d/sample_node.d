/* SPDX-License-Identifier: MIT */
/*
 * memprof sample, of Node.js: how often compiled code has found its buffer to be full, by stack, and
 * how often V8 itself has, where it makes objects for a function of JavaScript (JSON.parse()). Both
 * get the next buffer from EnsureAllocation(), which is told for whom (arg3): 0 is compiled code, 1
 * is V8, 2 is the collector, whose copies are nobody's.
 */
pid$target:a.out:*Runtime_AllocateIn*Generation*:entry,
pid$target:libnode.so*:*Runtime_AllocateIn*Generation*:entry
{
	@bytes[jstack()] = sum(1);
}

pid$target:a.out:*Space*EnsureAllocation*:entry,
pid$target:libnode.so*:*Space*EnsureAllocation*:entry
/(int)arg3 == 1/
{
	@bytes[jstack()] = sum(1);
}
