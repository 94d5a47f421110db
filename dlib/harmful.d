/* SPDX-License-Identifier: MIT */
/*
 * Probes of programs that are known to end or to spoil these while they are enabled, whoever
 * enables them. They are left out, and dtrace says so, unless -x harmful insists. A row is
 *
 *     #pragma D harmful PROVIDER:PROBE FACT=PATTERN... "REASON"
 *
 * A FACT is about the file that has the probe: file (its name), build-id (in hexadecimal), or
 * a variable of the file, which holds a text.
 */

/*
 * rb_dtrace_setup() (vm.c) asks for the name of a method's class. That of RubyVM::FrozenCore, the
 * owner of what `alias', `undef', `->' and `**' call, is a string to which only a class of kind
 * T_ICLASS refers, and the garbage collector does not mark what that kind refers to (gc.c). After the
 * first collection, the name is memory that was freed: the probe has any text as its class, or Ruby
 * dies of SIGSEGV. FrozenCore has a name since 3.0 (vm.c, rb_set_class_path(fcore, ...)). 3.2 loses
 * it at once and makes one up for each firing, as 2.7 does; since 3.4 it is registered as an object
 * in use. Seen in 3.0.2 and 3.1.2, read in the source of 3.3.8.
 */
#pragma D harmful ruby:cmethod-* ruby_version=3.[013].* "Ruby 3.0, 3.1 and 3.3 then read the name of a class from freed memory, and may die of SIGSEGV"
