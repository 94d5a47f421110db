/* SPDX-License-Identifier: MIT */
/*
 * memprof objects, of Python: probes stand on the instructions that set the number of references of
 * a new object to 1, wherever the compiler has put these. The type is the second word of an object;
 * its name is read when it is met first. What the interpreter takes down when it ends is alive.
 */
BEGIN
{
	ended = 0;
	known[(uint64_t)0] = 1;
}

pid$target:a.out:Py_FinalizeEx:entry
{
	ended = 1;
}
