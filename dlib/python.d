/* SPDX-License-Identifier: MIT */
/*
 * Provider python of a CPython that was built without its probes (--with-dtrace). Debian's have them.
 */
provider python {
	probe gc__start(int generation)
		= pid:libpython3*:gc_collect_main:entry ((int)arg1),
		  pid:python3*:gc_collect_main:entry ((int)arg1)
		|| "this Python was built without probes (--with-dtrace), and without symbols of its own functions";
	probe gc__done(long found)
		= pid:libpython3*:gc_collect_main:return ((long)arg1),
		  pid:python3*:gc_collect_main:return ((long)arg1)
		|| "this Python was built without probes (--with-dtrace), and without symbols of its own functions";

	/*
	 * The interpreter of 3.11 calls functions without the probe unless a consumer of line is
	 * counted (_PyEval_EvalFrameDefault(): cframe.use_tracing).
	 */
	probe function__entry(userland char *file, userland char *function, int line)
		= usdt:python3*:python:function-entry
		((userland char *)arg0, (userland char *)arg1, (int)arg2),
		usdt:libpython3*:python:function-entry
		((userland char *)arg0, (userland char *)arg1, (int)arg2),
		usdt:python3*:python:line /0/ (0, 0, 0),
		usdt:libpython3*:python:line /0/ (0, 0, 0)
		|| "this Python was built without probes (--with-dtrace), and its interpreter calls functions inside of one function of its own";
	probe function__return(userland char *file, userland char *function, int line)
		= "this Python was built without probes (--with-dtrace), and its interpreter calls functions inside of one function of its own";
	probe line(userland char *file, userland char *function, int line)
		= "this Python was built without probes (--with-dtrace), and its interpreter has no function that runs once for each line";
	probe audit(userland char *event, userland void *arguments)
		= "this Python was built without probes (--with-dtrace): pid$target::PySys_Audit:entry has many of the events as arg0";
	probe import__find__load__start(userland char *module)
		= "this Python was built without probes (--with-dtrace): pid$target::PyImport_Import*:entry are near";
	probe import__find__load__done(userland char *module, int found)
		= "this Python was built without probes (--with-dtrace): pid$target::PyImport_Import*:return are near";
};
