/* SPDX-License-Identifier: MIT */
/* Provider node of a Node.js without probes of its own: functions of V8. */
provider node {
	/* kinds of collections: 1 scavenge, 2 minor mark-compact, 4 mark-compact, 8 incremental marking, 16 weak callbacks */
	probe gc__start(int type, int flags)
		= pid:node*:_ZN2v88internal4Heap23CallGCPrologueCallbacksENS_6GCTypeENS_15GCCallbackFlagsENS0_8GCTracer5Scope7ScopeIdE:entry
		((int)arg1, (int)arg2),
		pid:libnode*:_ZN2v88internal4Heap23CallGCPrologueCallbacksENS_6GCTypeENS_15GCCallbackFlagsENS0_8GCTracer5Scope7ScopeIdE:entry
		((int)arg1, (int)arg2);
	probe gc__done(int type, int flags)
		= pid:node*:_ZN2v88internal4Heap23CallGCEpilogueCallbacksENS_6GCTypeENS_15GCCallbackFlagsENS0_8GCTracer5Scope7ScopeIdE:entry
		((int)arg1, (int)arg2),
		pid:libnode*:_ZN2v88internal4Heap23CallGCEpilogueCallbacksENS_6GCTypeENS_15GCCallbackFlagsENS0_8GCTracer5Scope7ScopeIdE:entry
		((int)arg1, (int)arg2);

	probe net__server__connection()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
	probe net__stream__end()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
	probe net__socket__read()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
	probe net__socket__write()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
	probe http__server__request()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
	probe http__server__response()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
	probe http__client__request()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
	probe http__client__response()
		= "its arguments are in objects of JavaScript, which no function has as its own: the program can make the probe with the module dtrace-provider";
};
