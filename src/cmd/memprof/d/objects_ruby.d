/* SPDX-License-Identifier: MIT */
/*
 * memprof objects, of Ruby: the functions that hand out slots know the class at their entry and the
 * object when they have come back. Classes are keys by address; @names says what those are called
 * that are built in, once the interpreter has started, and counts calls of new() by the class 0.
 * Strings and arrays are freed by functions of their own.
 */
