/* SPDX-License-Identifier: MIT */
/*
 * memprof objects, of Perl: bless() has the object and its package. Other values are taken from
 * arenas without a call of a function; a new arena has room for 169 of them, and the line that has
 * needed it has probably made as many: the class 1. What perl takes down when it ends is alive.
 */
BEGIN
{
	ended = 0;
	known[(uint64_t)0] = 1;
}
