/* SPDX-License-Identifier: MIT */
/*
 * memprof objects, of PHP: an object is put into the table of objects when it has its class, and
 * arrays are what the functions return that make them. The class 1 stands for arrays. What the
 * interpreter takes down at the end of a request is alive.
 */
BEGIN
{
	ended = 0;
	known[(uint64_t)0] = 1;
}
