/* SPDX-License-Identifier: MIT */
/*
 * Provider ruby: names that old scripts know (of the patched Ruby 1.8), made of the probes that
 * libruby has itself.
 */
provider ruby {
	probe function__entry(userland char *class, userland char *method, userland char *file, int line)
		= usdt:libruby*:ruby:method-entry
		((userland char *)arg0, (userland char *)arg1, (userland char *)arg2, (int)arg3),
		usdt:libruby*:ruby:cmethod-entry
		((userland char *)arg0, (userland char *)arg1, (userland char *)arg2, (int)arg3);
	probe function__return(userland char *class, userland char *method, userland char *file, int line)
		= usdt:libruby*:ruby:method-return
		((userland char *)arg0, (userland char *)arg1, (userland char *)arg2, (int)arg3),
		usdt:libruby*:ruby:cmethod-return
		((userland char *)arg0, (userland char *)arg1, (userland char *)arg2, (int)arg3);
	probe object__create__start(userland char *class, userland char *file, int line)
		= usdt:libruby*:ruby:object-create
		((userland char *)arg0, (userland char *)arg1, (int)arg2);
	probe gc__begin() = usdt:libruby*:ruby:gc-mark-begin ();
	probe gc__end() = usdt:libruby*:ruby:gc-sweep-end ();

	probe object__create__done(userland char *class, userland char *file, int line)
		= "Ruby has one probe for each new object: object-create";
	probe object__free(userland char *class) = "Ruby has no probe where it frees an object: gc-begin and gc-end tell when it does";
	probe line(userland char *file, int line) = "Ruby has no probe for lines: a TracePoint of Ruby sees them";
	probe rescue(userland char *file, int line) = "Ruby has no probe where an exception is rescued: raise fires when it is raised";
};
