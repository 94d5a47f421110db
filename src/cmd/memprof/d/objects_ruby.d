/* SPDX-License-Identifier: MIT */
/*
 * memprof objects, of Ruby: the functions that hand out slots know the class at their entry and the
 * object when they have come back. Classes are keys by address; @names says what those are called
 * that are built in, once the interpreter has started. Strings and arrays are freed by functions of
 * their own; of others, the word behind the flags is the class until they are freed.
 */
#pragma D option livecheck=8
#pragma D option livebase=16

BEGIN
{
	known[(uint64_t)0] = 1;
}
