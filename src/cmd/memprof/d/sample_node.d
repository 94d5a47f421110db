/* SPDX-License-Identifier: MIT */
/*
 * memprof sample, of Node.js: how often compiled code has found its buffer to be full, by stack.
 */
pid$target:a.out:*Runtime_AllocateIn*Generation*:entry,
pid$target:libnode.so*:*Runtime_AllocateIn*Generation*:entry
{
	@bytes[jstack()] = sum(1);
}
