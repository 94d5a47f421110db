/* SPDX-License-Identifier: MIT */
/*
 * Places that allocate, of virtual machines whose threads have buffers of their own: the slow path
 * is sampled, which refills a buffer. That is one event for tens of kilobytes, and the place that
 * happens to need the next buffer is the more often the one the more it allocates.
 *
 *     Java     AllocTracer is told of each new buffer (TLAB) with its size, and of what is too
 *              large for one, whatever -XX options are given. libjvm.so may come later.
 *     Node.js  calls a function of V8 for each new buffer, whose size is not told: samples count.
 *              V8 is in the program, or in libnode.so, as in Debian's package libnode108. Where V8
 *              makes objects itself, EnsureAllocation() of a space gets the buffer.
 *
 * Facts    HotSpot 10 to 25 gc/shared/allocTracer.hpp: the size of the buffer, or of the object
 *          outside of one, is the third argument. HotSpot 8 gc_implementation/shared/
 *          allocTracer.hpp: the second one, of functions with names that end in "_event". V8: Runtime_AllocateInYoungGeneration().
 */
#include "memprof.h"

#define NODE_FUNCTIONS "*Runtime_AllocateIn*Generation*"
#define JAVA_FUNCTIONS "*AllocTracer*send_allocation_in_new_tlab*"

static void function_note(const char *module, const char *function, void *arg)
{
	(void)module;
	(void)function;
	*(bool *)arg = true;
}

static bool has_functions(struct memprof *m, const char *description)
{
	bool ret = false;

	functions_find(m, description, function_note, &ret);
	return ret;
}

int sample_run(struct memprof *m)
{
	struct tracing t = {.d = memprof_d_sample_java,
			    .agg = "bytes",
			    .may_come = true,
			    .nothing = "no buffer was filled, or no file has the function "
				       "AllocTracer::send_allocation_in_new_tlab()",
			    .hint = "memprof without a word shows what grows, memprof malloc "
				    "blocks"};

	session_open(m);
	if (has_functions(m, "pid$target:a.out:" NODE_FUNCTIONS ":entry,"
			     "pid$target:libnode.so*:" NODE_FUNCTIONS ":entry")) {
		t.d = memprof_d_sample_node;
		t.unit = "samples";
		t.nothing = "no buffer was filled";
	} else if (!m->command &&
		   !has_functions(m, "pid$target:libjvm.so:" JAVA_FUNCTIONS ":entry")) {
		say("process %d has no Java or Node.js whose allocations can be sampled: there is "
		    "no function AllocTracer::send_allocation_in_new_tlab() in a libjvm.so, nor "
		    "Runtime_AllocateInYoungGeneration() in the program or a libnode.so, by "
		    "their symbols",
		    (int)m->pid);
		fputs("hint: memprof without a word shows what grows, memprof malloc blocks\n",
		      stderr);
		return E_ERROR;
	}
	return session_run(m, &t);
}
