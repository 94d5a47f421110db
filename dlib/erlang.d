/* SPDX-License-Identifier: MIT */
/*
 * Provider erlang over functions of beam.smp of Erlang/OTP 25 for x86-64. The term of a local
 * process has 4 bits of tag, 15 of its number and 13 of its serial number; a struct process begins
 * with its term.
 */
inline string __erlang_pid[uint64_t T] = strjoin("<0.", strjoin(lltostr((T >> 4) & 0x7fff),
	strjoin(".", strjoin(lltostr((T >> 19) & 0x1fff), ">"))));
inline uint64_t __erlang_id[uintptr_t P] = *(userland uint64_t *)P;

provider erlang {
	probe message__send(string sender, string receiver)
		= pid:beam.smp:erts_send_message:entry
		(__erlang_pid[__erlang_id[arg0]], __erlang_pid[__erlang_id[arg1]]);
	probe process__spawn(string pid) = pid:beam.smp:erl_create_process:return
		/(arg1 & 15) == 3/ (__erlang_pid[arg1]);
	probe process__exit(string pid) = pid:beam.smp:erts_do_exit_process:entry
		(__erlang_pid[__erlang_id[arg0]]);

	probe message__queued()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe message__receive()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe local__function__entry()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe global__function__entry()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe function__return()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe bif__entry()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe bif__return()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe nif__entry()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe nif__return()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe process__scheduled()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe process__unscheduled()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe process__hibernate()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe process__heap_grow()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe process__heap_shrink()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe gc_major__start()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe gc_major__end()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe gc_minor__start()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe gc_minor__end()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe port__open()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe port__command()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe port__exit()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe copy__struct()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
	probe copy__object()
		= "no function of this beam.smp tells it: Erlang tells it itself, erlang:trace/3 and the module dbg";
};
