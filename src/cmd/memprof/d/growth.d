/* SPDX-License-Identifier: MIT */
/*
 * memprof: pages that the process did not have before, by who has touched them first.
 */
vminfo:::as_fault
/pid == $target/
{
	@bytes[jstack()] = sum(arg0 * `_pagesize);
}
