/* SPDX-License-Identifier: MIT */
/*
 * Node.js 16, 18, 20, 22, 24 and 26 (V8): frames of JavaScript functions, as "handle at
 * /srv/app/server.js line 88".
 *
 * All code that V8 generates keeps frame pointers, and each frame has its function: the slot below
 * the context. The code that belongs to the function says which tier the frame is of. Interpreted
 * code has its position in a slot of the frame, baseline and optimised code in tables of the code
 * object; an optimised frame stands for the functions that were inlined into it, too.
 *
 * Numbers and offsets that V8 exports (v8dbg_*) are read from the process; the rest is known for
 * the versions below. An object is believed only if its map has the right instance type. While the
 * collector moves objects, the first word of one that was moved leads to the copy.
 *
 * With -x jstackasync, what a continuation waits for follows the builtin that has resumed it, as
 * "async handle at /srv/app/server.js line 88". A root of the isolate has the microtask that runs.
 * Its handler is a closure whose context has the generator object of the async function, and that
 * has the promise of the function's result. Who waits for this is the handler of the promise's only
 * reaction, and so on; these are the steps of V8's own traces ("at async ...").
 */
#pragma D helper exec "node|nodejs|libnode.so*"

table VERSIONS { /*          Node.js: 16    18    20    22    24    26 */
	/* of V8: 100 * major + minor */
	uint64_t version     =          904, 1002, 1103, 1204, 1306, 1406;
	/* code has a table of its calls behind it */
	uint64_t has_calls   =            0,    1,    1,    1,    1,    1;
	/* what lies between the code and that table's length: the number of slots of the frame */
	uint64_t o_calls     =            0,    0,    0,    0,    4,    4;
	/* where a Deoptimizer has the address to which code that bailed out would have returned */
	uint64_t o_bailed    =           32,   32,   40,   40,   48,   48;
	/* a scope says where its receiver is */
	uint64_t has_receiver =           1,    0,    0,    0,    0,    0;
	/* flags of a scope are no small integer */
	uint64_t is_raw	     =            0,    0,    0,    0,    1,    1;
	/* the kind of scopes that count their variables, too */
	uint64_t t_module    =           16,   16,   16,    3,    5,    5;
	/*
	 * offsets in Code: its tables of positions and for deoptimisation; 0: read from the process
	 * below
	 */
	uint64_t o_table     =           24,   24,   24,   16,   16,   16;
	uint64_t o_deopt     =           16,   16,   16,    8,    8,    8;
	/* of Code: its instructions follow, or 0: they are elsewhere */
	uint64_t o_inline    =           96,  128,    0,    0,    0,    0;
	/* where Code has the address of its instructions, then */
	uint64_t o_start     =            0,    0,   40,    0,    0,    0;
	uint64_t o_size	     =           40,   40,   56,    0,    0,    0;
	uint64_t o_flags     =           48,   48,   48,    0,    0,    0;
	uint64_t o_positions =           32,   32,   32,   24,   24,   24; /* in BytecodeArray */
	/* where the data for deoptimisation has literals and inlined functions */
	uint64_t i_literals  =            2,    2,    2,    2,    0,    0;
	uint64_t i_inlined   =            7,    7,    7,    7,    0,    0;
	/*
	 * functions have numbers in a table of code, which is there in the isolate or its group; 0:
	 * they have their code
	 */
	uint64_t o_dispatch  =            0,    0,    0,    0, 0x3270,  616;
	/*
	 * a page of the heap leads to what V8 has for it, or is that itself (0); where the heap is in
	 * that
	 */
	uint64_t o_page      =            0,    0,    0,    8,    8,    8;
	uint64_t o_heap      =           16,   16,   16,   24,   64,   64;
	/* the flags of an entry in the table of positions */
	uint64_t pair_flags  =            0,    0,    0,    0,    0,    2;
	/* from tagged addresses: the handler in a microtask and a reaction, a builtin's number */
	uint64_t o_handler   =           23,   23,   23,   31,   31,   31;
	uint64_t o_builtin   =            7,    7,    7,    7,   15,   15;
};

uint64_t text, text_end; /* the code of the program */
uint64_t blob, blob_size; /* the builtins in it */
uint64_t blob_copy; /* address of V8's second mapping of the builtins, or 0: not found yet */
uint64_t blob_begin; /* 8 bytes of the builtins, by which it is recognised */
/*
 * The builtins that optimised code calls when it bails out, one behind the other: where they begin,
 * their size; from the first one on, where each begins and where the one for lazy bailouts begins
 */
uint64_t bailout, bailout_size, bailout_step, bailout_lazy;
/*
 * in the first one: how many bytes of registers it saves first, where its calls return, where the
 * frame is gone, and where the frame pointer is the new one
 */
uint64_t bailout_saved, bailout_first, bailout_second, bailout_gone, bailout_done;
/* where a Deoptimizer has the frame that is left, and a FrameDescription the words of the frame */
uint64_t o_input, o_content;
/* address of the group of isolates that has the table of code, or 0: each isolate has its own */
uint64_t group;
uint64_t isolate;  /* where from the thread pointer the thread's isolate is */
uint64_t t_baseline; /* what lies between a function and its baseline code, or 0 */
uint64_t libc, libc_end;
uint64_t t_string, t_function, t_function_last, t_shared, t_scope, t_script, t_code, t_bytecode;
uint64_t t_array, t_bytes, t_bytes2; /* arrays of values, and two kinds of arrays of bytes */
uint64_t o_shared, o_code, o_name, o_script; /* of JSFunction and SharedFunctionInfo */
uint64_t o_lines, o_bytes; /* of Script and BytecodeArray */
uint64_t k_baseline, k_optimised; /* kinds of code; the first optimised one is Maglev's */
uint64_t first_var; /* of ScopeInfo */
uint64_t sizes, nsizes; /* of bytecodes */
/*
 * The builtins that run the jobs of promises, from the beginning of all builtins. 0: what async
 * frames need was not found, so that there are none. Their callers' addresses are at least
 * job_caller, and less than job_span more, above theirs.
 */
uint64_t job, job_size, job_caller, job_span;
uint64_t key; /* to Node.js 18: address of the key by which a thread has its isolate, */
uint64_t specific; /* and where the values of keys are (find_specific()) */
uint64_t o_task; /* the microtask that runs, of the isolate */
uint64_t t_task, t_task_rejected, t_task_thenable; /* kinds of microtasks */
uint64_t t_promise, t_reaction, t_capability;
uint64_t t_async, t_async_generator, t_request;
uint64_t id_await, id_await_generator, id_all, id_resolve; /* numbers of builtins */

/* State of a frame. */
this uint64_t anon;
this uint64_t bailed; /* it is a frame of a builtin for code that bails out */
this uint64_t bytecode;
this uint64_t chars;
this uint64_t code;
this uint64_t context;
this uint64_t counted; /* bytes of sources in which lines were counted */
this uint64_t deoptimizer;
this uint64_t dispatch;
this uint64_t fresh;   /* the frame is to be made: it was not recorded before */
this uint64_t from;
this uint64_t function;
this uint64_t generator;
this uint64_t handler;
this uint64_t in_blob;
this uint64_t is_async; /* the functions are those that wait for the microtask */
this uint64_t is_back;	/* the line is before the one that was counted last */
this uint64_t is_lazy;
this uint64_t is_maglev;
this uint64_t is_new;
this uint64_t is_recorded; /* the function has its frame already, or gets none */
this uint64_t is_tail;	   /* the part of a string is behind those that are read later */
this uint64_t is_whole;
this uint64_t j;
this uint64_t len;
this uint64_t lined; /* the script in which a line was counted last; where, and which */
this uint64_t lined_as;
this uint64_t lined_at;
this uint64_t more;
this uint64_t n;
this uint64_t named; /* the script whose name this->file is */
this uint64_t next;
this uint64_t npairs; /* parts of a string that were split in two */
this uint64_t offset;
this uint64_t pc;
this uint64_t position;
this uint64_t promise;
this uint64_t reaction; /* of a promise, or a microtask */
this uint64_t rep;
this uint64_t rest; /* the part of a string that is to be read next, or 0 */
this uint64_t s;
this uint64_t script;
this uint64_t sfi;
this uint64_t shared;
this uint64_t table;
this uint64_t task;
this uint64_t tier;
this uint64_t was_async; /* this stack has its async frames */
this uint64_t wide;
this int64_t at;
this int64_t id;
this int64_t k;
this int64_t line;
this string file;
this string head; /* the first parts of a string, and the last ones */
this string name;
this string own;
this string tail;
this string text;

/* the tier of a frame */
inline int UNKNOWN = 0;
inline int INTERPRETED = 1;
inline int BASELINE = 2;
inline int OPTIMISED = 3;
/* slots of a frame, from its frame pointer */
inline int FRAME_CONTEXT = 8;
inline int FRAME_FUNCTION = 16;
inline int FRAME_BYTECODE = 32;
inline int FRAME_OFFSET = 40; /* of the next bytecode */
/*
 * Offsets from tagged addresses, which are one more than those of their objects: the map of an
 * object and the type in that; the length and elements of an array.
 */
inline int MAP_TYPE = 11;
inline int ARRAY_LENGTH = 7;
inline int ARRAY_DATA = 15;
/* of strings: the kind in the type; length, characters; what the parts of others lead to */
inline int STRING_KIND = 7;
inline int SEQUENTIAL = 0;
inline int CONS = 1; /* it was joined of two */
inline int EXTERNAL = 2;
inline int SLICED = 3;
inline int THIN = 5; /* it stands for another one */
inline int UNKNOWN_KIND = 7;
inline int PAIRS_MOST = 12; /* in a string that is read in parts */
inline int ONE_BYTE = 8;
inline int STRING_LENGTH = 11;
inline int STRING_CHARS = 15;
/* also the string that a slice is of, and that a thin one stands for */
inline int STRING_FIRST = 15;
/* also where a slice begins, and the characters of an external string */
inline int STRING_SECOND = 23;
/* of async functions and what they wait for */
inline int FUNCTION_HASH = 7;
inline int CONTEXT_FIRST = 31; /* what a builtin's closure has there: the generator, the promise */
inline int CONTEXT_SECOND = 39; /* the capability */
inline int GENERATOR_FUNCTION = 23;
inline int GENERATOR_OFFSET = 47; /* of the bytecode, while it is suspended */
inline int GENERATOR_STATE = 63; /* not negative: it is suspended */
inline int RUNS = -2;
inline int GENERATOR_PROMISE = 79; /* or the first request to an async generator */
inline int REQUEST_PROMISE = 31;
inline int CAPABILITY_PROMISE = 7;
inline int PROMISE_REACTIONS = 23;
inline int PROMISE_FLAGS = 31;
inline int BASELINE_BYTECODE = 15; /* Node.js 16 */
/* offsets from untagged addresses */
inline int O_DATA = 8; /* of SharedFunctionInfo and BaselineData */
inline int SCRIPT_SOURCE = 8;
inline int SCRIPT_NAME = 16;
inline int SCRIPT_LINE = 24; /* of the file, where the script begins */
inline int SCOPE_FLAGS = 8;
inline int SCOPE_VARS = 24;

inline int BAILED_CODE = 16; /* of a Deoptimizer */

/* of sources in which lines are counted during a walk, and those up to a function's end */
inline uint64_t COUNTED_MOST = 1048576;
inline uint64_t COUNTED_ONE = 65536;

inline int32_t SMI[uint64_t a] = *(int32_t *)(a + 4);
/* the instance type of a tagged object; no type is 65535 */
inline uint64_t TYPE[uint64_t o] = (o & 1) == 0 ? 65535 :
    (WORD[(o & ~3)] & 0xffff800000000003) != 1 ? 65535 : SHORT[WORD[(o & ~3)] + MAP_TYPE];
/* the tagged object, or its copy if the collector has moved it */
inline uint64_t MOVED[uint64_t o] = (o & 1) == 0 ? o :
    (WORD[(o & ~3)] & 7) != 0 || WORD[(o & ~3)] < 4096 ? o : WORD[(o & ~3)] + 1;
inline int CONST[string s] = *(int *)symaddr(s);
inline uint64_t CODE_START[uint64_t c] =
    WORD[c + o_start] * (o_inline == 0) + (c + o_inline) * (o_inline != 0);
/* not the first ones: a probe may have put a breakpoint there */
inline uint64_t BLOB_BEGIN[uint64_t a] = WORD[a + 8];
inline uint64_t LENGTH[uint64_t s] = HALF[s + STRING_LENGTH];
/* it was joined of two, and is still in two parts */
inline int IS_PAIR[uint64_t s] = TYPE[s] < t_string && (TYPE[s] & STRING_KIND) == CONS &&
    LENGTH[WORD[s + STRING_SECOND]] != 0;
inline int IS_ASYNC = WANTS_ASYNC && this->is_async;
inline int IS_RECORDED = WANTS_ASYNC && this->is_recorded;

/* What all versions export. */
inline void read_common()
{
	t_string = CONST["v8dbg_FirstNonstringType"];
	t_shared = CONST["v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"];
	t_scope = CONST["v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"];
	t_script = CONST["v8dbg_type_Script__SCRIPT_TYPE"];
	t_code = CONST["v8dbg_type_Code__CODE_TYPE"];
	t_bytecode = CONST["v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE"];
	t_array = CONST["v8dbg_type_FixedArray__FIXED_ARRAY_TYPE"];
	t_bytes = CONST["v8dbg_type_ByteArray__BYTE_ARRAY_TYPE"];
	o_shared = CONST["v8dbg_class_JSFunction__shared__SharedFunctionInfo"];
	o_lines = CONST["v8dbg_class_Script__line_ends__Object"];
	first_var = CONST["v8dbg_scopeinfo_idx_first_vars"];
	/* V8 9.4 does not export these two */
	o_bytes = version == 904 ? 54 : CONST["v8dbg_class_BytecodeArray__data__uintptr_t"];
	k_baseline = version == 904 ? 11 : CONST["v8dbg_CodeKindBaseline"];
	k_optimised = k_baseline + 1;
}

/* To Node.js 20 */
inline void read_old()
{
	t_function = CONST["v8dbg_type_JSFunction__JS_FUNCTION_TYPE"];
	t_function_last = t_function + (version == 904 ? 13 : 15);
	t_bytes2 = t_bytes;
	t_baseline = version == 904 ? CONST["v8dbg_type_BaselineData__BASELINE_DATA_TYPE"] : 0;
	o_name = CONST["v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object"];
	o_script = CONST["v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject"];
	o_code = o_shared + 24;
}

/* From Node.js 22 on */
inline void read_new()
{
	t_function = CONST["v8dbg_FirstJSFunctionType"];
	t_function_last = CONST["v8dbg_LastJSFunctionType"];
	t_bytes2 = CONST["v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"];
	o_script = CONST["v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_"];
	o_code = o_shared - 8;
	o_start = CONST["v8dbg_class_Code__instruction_start__Address"];
	o_size = CONST["v8dbg_class_Code__instruction_size__int"];
	o_flags = CONST["v8dbg_class_Code__flags__uint32_t"];
	o_name = version == 1204 ?
	    CONST["v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_"] :
	    CONST["v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"];
	if (version > 1204) {
		i_literals = CONST["v8dbg_DeoptimizationDataLiteralArrayIndex"];
		i_inlined = CONST["v8dbg_DeoptimizationDataInliningPositionsIndex"];
	}
}

/* the number of a builtin, which is that of its row in V8's table; from a number below it on */
inline uint64_t BUILTIN_ROW = 24;
inline uint64_t BUILTIN[uint64_t from, string name] =
    (ufind(this->table + from * BUILTIN_ROW, BUILTIN_ROW, 0, name, 0, NULL) - this->table) /
    BUILTIN_ROW;

inline void read_async_types()
{
	t_task =
	    CONST["v8dbg_type_PromiseFulfillReactionJobTask__PROMISE_FULFILL_REACTION_JOB_TASK_TYPE"];
	t_task_rejected =
	    CONST["v8dbg_type_PromiseRejectReactionJobTask__PROMISE_REJECT_REACTION_JOB_TASK_TYPE"];
	t_task_thenable =
	    CONST["v8dbg_type_PromiseResolveThenableJobTask__PROMISE_RESOLVE_THENABLE_JOB_TASK_TYPE"];
	t_promise = CONST["v8dbg_type_JSPromise__JS_PROMISE_TYPE"];
	t_reaction = CONST["v8dbg_type_PromiseReaction__PROMISE_REACTION_TYPE"];
	t_capability = CONST["v8dbg_type_PromiseCapability__PROMISE_CAPABILITY_TYPE"];
	t_async = CONST["v8dbg_type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE"];
	t_async_generator =
	    CONST["v8dbg_type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE"];
	t_request = CONST["v8dbg_type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE"];
}

/*
 * What async frames need. The first store to the roots of the isolate, in the builtin that runs
 * microtasks, is that of the next one; r13 is 128 bytes into the isolate. The builtins for the jobs
 * of promises are near each other, and none of those between them is called by that one.
 */
inline void read_async()
{
	this->runner = symaddr("Builtins_RunMicrotasks");
	this->from = symaddr("Builtins_PromiseFulfillReactionJob");
	this->next = this->from + symsize("Builtins_PromiseFulfillReactionJob");
	this->k = 0;
	while (this->k < 2; 2) {
		this->s = this->k ? symaddr("Builtins_PromiseRejectReactionJob") :
		    symaddr("Builtins_PromiseResolveThenableJob");
		this->len = this->k ? symsize("Builtins_PromiseRejectReactionJob") :
		    symsize("Builtins_PromiseResolveThenableJob");
		this->from = this->s < this->from ? this->s : this->from;
		this->next = this->s + this->len > this->next ? this->s + this->len : this->next;
		this->k++;
	}
	this->table = symaddr("_ZN2v88internal12_GLOBAL__N_1L16builtin_metadataE");
	if (!this->table)
		this->table = symaddr("_ZN2v88internal12_GLOBAL__N_116builtin_metadataE");
	this->s = this->runner ? ubytes(this->runner, 160, "4d 89 ?? ?? ?? 00 00") : 0;
	if (this->s && (BYTE[this->s + 2] & 0xc7) == 0x85)
		o_task = HALF[this->s + 3] + 128;
	if (version >= 1100) {
		isolate = tpoff("_ZN2v88internal18g_current_isolate_E");
	} else {
		key = symaddr("_ZN2v88internal7Isolate12isolate_key_E");
		find_specific();
		specific = this->specific;
	}
	if (o_task && this->from && this->next - this->from < 16384 && this->table &&
	    (isolate || (key && specific))) {
		id_await = BUILTIN[0, "AsyncFunctionAwaitRejectClosure"];
		id_await_generator = BUILTIN[id_await, "AsyncGeneratorAwaitResolveClosure"];
		id_resolve = BUILTIN[id_await_generator, "PromiseCapabilityDefaultResolve"];
		id_all = BUILTIN[id_resolve, "PromiseAllResolveElementClosure"];
		read_async_types();
		job = this->from - blob;
		job_size = this->next - this->from;
		job_caller = this->runner - this->from - job_size;
		job_span = symsize("Builtins_RunMicrotasks") + job_size;
	}
}

/*
 * The parts of a builtin for bailouts (V8's Generate_DeoptimizationEntry()) are found by the
 * instructions: call *%rax, twice; mov x(%rax),%rbx; lea x(%rbx),%rdx; push %rax; mov %rsp,%r10;
 * pop %rdi; pop %rsi; pop %rbp.
 */
inline void find_bailout()
{
	bailout = symaddr("Builtins_DeoptimizationEntry_Eager");
	bailout_lazy = symaddr("Builtins_DeoptimizationEntry_Lazy") - bailout;
	bailout_size = bailout_lazy + symsize("Builtins_DeoptimizationEntry_Lazy");
	bailout_step = version == 904 ? bailout_lazy / 3 : bailout_lazy;
	this->first = ubytes(bailout, bailout_step, "ff d0");
	this->second = this->first ? ubytes(this->first + 2, bailout_step, "ff d0") : 0;
	this->input = this->second ? ubytes(this->first, bailout_step, "48 8b 58") : 0;
	this->content = this->input ? ubytes(this->first, bailout_step, "48 8d 93") : 0;
	this->gone = this->content ? ubytes(this->content, bailout_step, "50 49 89 e2") : 0;
	this->done = this->gone ? ubytes(this->second, bailout_step, "5f 5e 5d") : 0;
	if (this->done && bailout_size < 0x2000) {
		bailout_saved = HALF[bailout + 3]; /* sub $x,%rsp */
		bailout_first = this->first + 2 - bailout;
		bailout_second = this->second + 2 - bailout;
		bailout_gone = this->gone - bailout;
		bailout_done = this->done + 3 - bailout;
		o_input = BYTE[this->input + 3];
		o_content = HALF[this->content + 3];
	} else {
		bailout_size = 0;
	}
}

dtrace:helper:attach:
{
	this->major = symaddr("_ZN2v88internal7Version6major_E");
	this->minor = symaddr("_ZN2v88internal7Version6minor_E");
	if (!this->major || !this->minor || !symaddr("v8dbg_type_Code__CODE_TYPE"))
		udecline("this Node.js does not describe its V8");
	if (!VERSIONS[INT[this->major] * 100 + INT[this->minor]])
		udecline("this version of V8 is not known");
	text = secaddr(".text");
	text_end = text + secsize(".text");
	libc = secaddr(".text", "libc.so*");
	libc_end = libc + secsize(".text", "libc.so*");
	blob = symaddr("v8_Default_embedded_blob_code_");
	blob_size = blob ? HALF[symaddr("v8_Default_embedded_blob_code_size_")] : 0;
	sizes = symaddr("_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE");
	nsizes = symsize("_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE") / 3;
	if (version < 1100)
		blob = symaddr("v8_Default_embedded_blob_code_data_");
	else if (blob)
		blob_begin = BLOB_BEGIN[blob];
	if (!blob || !sizes)
		udecline("its program is without symbols");
	read_common();
	if (version < 1200)
		read_old();
	else
		read_new();
	find_bailout();
	if (version == 1306)
		group = symaddr("_ZN2v88internal12IsolateGroup22default_isolate_group_E");
	if (version == 1406)
		isolate = tpoff("_ZN2v88internal18g_current_isolate_E");
	if (o_dispatch && !group && !isolate)
		udecline("its program is without symbols");
	if (WANTS_ASYNC)
		read_async();
}

dtrace:helper:uthread:
/o_dispatch/ /* there is none before V8 is initialised, and in V8's other threads */
{
	/* a page of the program's variables that it has not touched yet is not there */
	this->s = group ? uword(group) : arg4 ? WORD[arg4 + isolate] : 0;
	this->dispatch = this->s ? WORD[this->s + o_dispatch] : 0;
}

dtrace:helper:ustack:
{
	this->shared = 0;
	this->fresh = 0;
	this->bailed = 0;
	if (WANTS_ASYNC)
		this->is_async = 0;
}

/*
 * A builtin that optimised code calls when it bails out makes frames of interpreted code of the
 * frame of the optimised one, whose frame pointer it keeps:
 *
 *     saves the registers, calls Deoptimizer::New()      the frame is as it was
 *     moves the registers and the frame to the heap      the same, until it is gone
 *     calls Deoptimizer::ComputeOutputFrames()           others use the frame's memory
 *     copies the new frames to the stack, outer first    the outer ones are there
 *     loads the registers                                all are there
 *     returns to the inmost one                          the frame pointer is that of this one
 *
 * The builtin's frame stands for the function that bailed out, and leads to the caller of that.
 * Both are in the frame, or in its copy in the heap (a FrameDescription, which rbx leads to between
 * the calls), or in the copy of the new frame that is not yet on the stack.
 */
inline void find_bailed()
{
	this->deoptimizer = 0;
	this->from = 0; /* the return address of the optimised code */
	this->chars = 0; /* the copy */
	/* all but the first builtin pass a number that takes 3 bytes more */
	this->j = this->offset >= bailout_step ? 3 : 0;
	this->is_lazy = this->offset >= bailout_lazy;
	this->offset = this->offset % bailout_step - this->j;
	this->is_new = 0;
	if (arg3 == 0) {
		this->is_new = (int64_t)this->offset >= (int64_t)bailout_done;
		if ((int64_t)this->offset >= (int64_t)bailout_gone && !this->is_new)
			this->chars = uregs[R_RBX];
	} else if (this->offset == bailout_first) {
		/* the call aligns the stack; above it are 16 registers, and those saved before */
		this->from = WORD[WORD[arg2] + 128 + bailout_saved];
	} else if (this->offset == bailout_second) {
		this->deoptimizer = WORD[WORD[arg2]];
		this->from = WORD[this->deoptimizer + o_bailed];
		this->chars = WORD[this->deoptimizer + o_input];
	} else {
		this->bailed = 0; /* a signal interrupted it */
	}
}

/*
 * A FrameDescription has the frame's size, the number of parameters, 16 registers, 15 or 16 of
 * bailout_saved bytes, the address and the frame pointer (these two of a new frame only), ...
 */
inline void leave_bailed()
{
	this->next = arg1;
	this->s = 0; /* the distance from the frame to its copy */
	if (this->chars) {
		this->s = WORD[this->chars + 144 + bailout_saved];
		this->j = WORD[this->chars + 160 + bailout_saved];
		if (this->j - arg2 + 0x1000000 < 0x2000000)
			this->next = this->j;
		else /* rsp, which was saved behind the others and four registers */
			this->s = WORD[this->chars + 48] + 40 + bailout_saved;
		this->s = this->chars + o_content - this->s;
	}
	this->function = WORD[this->s + this->next - FRAME_FUNCTION] - 1;
	unwind(WORD[this->s + this->next + 8], this->next + 16, WORD[this->s + this->next]);
	if (TYPE[this->function + 1] - t_function <= t_function_last - t_function) {
		this->shared = WORD[this->function + o_shared] - 1;
		if (TYPE[this->shared + 1] != t_shared)
			this->shared = 0;
	}
}

dtrace:helper:ustack:
/arg0 - bailout < bailout_size ||
    (blob_begin && (arg0 & 0x3ffff) - (bailout - blob) < bailout_size &&
    uword((arg0 & ~0x3ffff) + 8) == blob_begin)/
{
	this->bailed = 1;
	this->offset = arg0 - bailout < bailout_size ? arg0 - bailout :
	    (arg0 & 0x3ffff) - (bailout - blob);
	find_bailed();
	if (this->bailed)
		leave_bailed();
	if (this->is_new) /* it is a frame as others are, but for where it leads to */
		this->bailed = 0;
}

/*
 * A frame of JavaScript: neither C++ nor a library, whose functions may leave the register as their
 * caller had it; all slots are in use; context and function are objects.
 */
dtrace:helper:ustack:
/!this->bailed && (arg0 < text || arg0 >= text_end || arg0 - blob < blob_size) &&
    (arg0 < libc || arg0 >= libc_end) && (arg5 || arg6 || arg0 - blob < blob_size) &&
    (uint64_t)(arg1 - arg2 - 24) < 0x1000000 && (WORD[arg1 - FRAME_CONTEXT] & 3) == 1 &&
    TYPE[WORD[arg1 - FRAME_FUNCTION]] - t_function <= t_function_last - t_function/
{
	this->function = WORD[arg1 - FRAME_FUNCTION] - 1;
	this->shared = WORD[this->function + o_shared] - 1;
	if (TYPE[this->shared + 1] != t_shared)
		this->shared = 0;
}

/* Which tier? */
dtrace:helper:ustack:
/this->shared/
{
	this->tier = UNKNOWN;
	this->pc = arg0 - (arg3 != 0);
	if (this->bailed && this->from) {
		/* as if it returned to the call by which it bailed out: call *x(%r13) */
		this->pc = this->from - 1;
		if ((HALF[this->from - 7] & 0xffffff) == 0x95ff41)
			this->pc = this->from - 8;
		else if ((HALF[this->from - 4] & 0xffffff) == 0x55ff41)
			this->pc = this->from - 5;
	}
	this->in_blob = this->pc - blob < blob_size ||
	    (blob_copy && this->pc - blob_copy < blob_size);
	if (!this->in_blob) {
		if (this->bailed && this->deoptimizer) {
			this->code = WORD[this->deoptimizer + BAILED_CODE] - 1;
		} else if (o_dispatch) {
			this->code =
			    WORD[this->dispatch + (HALF[this->function + o_code] >> 8) * 16 + 8];
			this->code = (this->code >> 16) & ~1;
		} else {
			this->code = WORD[this->function + o_code] - 1;
		}
		if (TYPE[this->code + 1] != t_code ||
		    this->pc - CODE_START[this->code] >= HALF[this->code + o_size])
			this->code =
			    WORD[(t_baseline && TYPE[WORD[this->shared + O_DATA]] == t_baseline ?
			    WORD[this->shared + O_DATA] - 1 : this->shared) + O_DATA] - 1;
		if (TYPE[this->code + 1] == t_code &&
		    this->pc - CODE_START[this->code] < HALF[this->code + o_size]) {
			this->k = HALF[this->code + o_flags] & 15;
			if (this->k == k_baseline)
				this->tier = BASELINE;
			if (this->k >= k_optimised)
				this->tier = OPTIMISED;
			this->is_maglev = this->k == k_optimised;
		}
	}
	/*
	 * Interpreted code runs in builtins. Their copy begins where a page of the heap could; most
	 * frames are in its first 256 KB, in which it is found.
	 */
	this->bytecode = WORD[arg1 - FRAME_BYTECODE] - 1;
	if (!this->tier && !this->bailed) {
		/* slots that are not yet made have those of an earlier call */
		if (arg1 - arg2 >= FRAME_OFFSET && (WORD[arg1 - FRAME_OFFSET] & 0xffffffff) == 0 &&
		    this->bytecode + 1 > 4096 &&
		    TYPE[this->bytecode + 1] == t_bytecode) {
			this->s = this->pc & ~0x3ffff;
			if (!this->in_blob && blob_begin && uword(this->s + 8) == blob_begin) {
				blob_copy = this->s;
				this->in_blob = 1;
			}
			if (this->in_blob)
				this->tier = INTERPRETED;
		}
	}
	if (this->bailed)
		this->in_blob = 1;
	/* a builtin that runs in a frame of its own has its native name */
	else if (this->in_blob && !this->tier)
		this->shared = 0;
}

/*
 * Has this been recorded before? The collector moves objects, and others come to lie where they
 * were: so the numbers of the script and of the function in it count, and the words that are next
 * to the latter.
 */
dtrace:helper:ustack:
/this->shared/
{
	this->script = WORD[this->shared + o_script] - 1;
	this->j = this->tier == INTERPRETED ? WORD[arg1 - FRAME_OFFSET] : this->tier == OPTIMISED ?
	    WORD[this->code + o_deopt] : 0;
	this->s = TYPE[this->script + 1] != t_script ? 0 :
	    (WORD[WORD[this->script + SCRIPT_SOURCE] + 7] & 0xffffffff00000000) |
	    WORD[this->script + o_lines + 8] >> 32;
	this->fresh = !uknown(this->pc, this->j + (this->tier << 60) + (this->bailed << 59),
	    WORD[this->shared + o_script + 8],
	    WORD[this->shared + o_script + 16] + (this->counted > COUNTED_MOST - COUNTED_ONE),
	    this->s);
	this->own = "";
}

/*
 * A frame of code that V8 has given up returns to where the code is left, by a call through r13
 * behind all others. V8's table of calls, behind the code, says where it was called from.
 */
inline void find_left()
{
	this->s = CODE_START[this->code] + HALF[this->code + o_size] + o_calls;
	this->rep = HALF[this->s + 4];
	this->wide = this->rep >> 4 & 7; /* the size of an address */
	this->from = this->wide + (this->rep >> 7 & 7);
	this->len = !has_calls || this->is_maglev || !(this->rep & 1) || !this->wide ||
	    this->wide > 4 ? 0 :
	    HALF[this->s];
	this->k = (1ull << 8 * this->wide) - 1;
	this->next = this->at + 2; /* 0 stands for none */
	this->at = -1;
	this->s += 8;
	while (this->len && this->at < 0; 2048) {
		if ((HALF[this->s + this->from] & this->k) == this->next)
			this->at = (HALF[this->s] & this->k) - 1;
		this->s += this->from + this->wide + (this->rep >> 1 & 7);
		this->len--;
	}
}

inline void find_optimised()
{
	this->at = this->pc - CODE_START[this->code];
	this->k = HALF[this->pc + (arg3 != 0)] & 0xffffff;
	if (this->bailed && !this->is_lazy)
		this->at = -1; /* no table has the calls of other bailouts */
	else if (this->k == 0x95ff41 || this->k == 0x55ff41) /* call *x(%r13) */
		find_left();
	this->table = WORD[this->code + o_table];
}

/* As many bytecodes from the first one on as the table of baseline code says. */
inline void find_baseline()
{
	this->table = MOVED[WORD[this->code + o_table]];
	this->k = 0;
	if (TYPE[this->table] == t_bytes || TYPE[this->table] == t_bytes2)
		this->k = uvlqindex(this->table + ARRAY_DATA, SMI[this->table + ARRAY_LENGTH],
		    this->pc - CODE_START[this->code]) - 1;
	this->at = 0;
	/* 0 to 3 are prefixes that widen the operands */
	while (this->k > 0; 4096) {
		this->j = BYTE[this->bytecode + o_bytes + this->at];
		this->rep = 0;
		if (this->j < 4)
			this->rep = 1 + (this->j & 1);
		if (this->rep) {
			this->at++;
			this->j = BYTE[this->bytecode + o_bytes + this->at];
		}
		this->at += BYTE[sizes + this->rep * nsizes + this->j];
		this->k--;
	}
	if (this->k > 0) /* a large function */
		this->at = -1;
	this->table = WORD[this->bytecode + o_positions];
}

/*
 * The offset of the bytecode, or of the instruction (-1: not known), and the position in the source
 * that it has.
 */
dtrace:helper:ustack:
/this->fresh && !IS_ASYNC/
{
	this->position = 0;
	this->at = -1;
	this->table = 0;
	if (this->tier == INTERPRETED) {
		this->at = SMI[arg1 - FRAME_OFFSET] - (int64_t)(o_bytes - 1);
		this->table = WORD[this->bytecode + o_positions];
	}
	if (this->tier == OPTIMISED)
		find_optimised();
	if (this->tier == BASELINE && TYPE[this->bytecode + 1] == t_bytecode)
		find_baseline();
	this->table = MOVED[this->table];
	if (this->at >= 0 && (TYPE[this->table] == t_bytes || TYPE[this->table] == t_bytes2))
		this->position =
		    uvlqpairs(this->table + ARRAY_DATA, SMI[this->table + ARRAY_LENGTH],
		    this->at + 1, pair_flags);
}

/*
 * The next function: one that was inlined, from the inmost one, and last the function itself.
 * Positions of optimised code say which (this->id), and the table of inlined functions where that
 * was called.
 */
inline void next_function()
{
	this->id = -1;
	if (this->tier == OPTIMISED)
		this->id = (int64_t)(this->position >> 31 & 0xffff) - 1;
	this->sfi = this->shared;
	this->next = 0;
	if (this->id >= 0) {
		this->s = WORD[this->code + o_deopt] - 1;
		this->chars = WORD[this->s + 16 + 8 * i_literals] - 1;
		this->from = WORD[this->s + 16 + 8 * i_inlined] - 1;
		this->next = WORD[this->from + 16 + 16 * this->id];
		this->len = *(int32_t *)(this->from + 16 + 16 * this->id + 8);
		if (this->len >= 0)
			this->sfi = MOVED[(WORD[this->chars + 16 + 8 * this->len] & ~3) + 1] - 1;
		if (TYPE[this->sfi + 1] != t_shared)
			this->sfi = 0;
		if ((int64_t)(this->next >> 31 & 0xffff) - 1 >= this->id)
			this->more = 0;
	} else {
		this->more = 0;
	}
	this->script = WORD[this->sfi + o_script] - 1;
	if (TYPE[this->script + 1] != t_script)
		this->script = 0;
	this->offset = 0;
	if (this->script && (this->position & 1) == 0)
		this->offset = this->position >> 1 & 0x3fffffff;
}

/*
 * The builtin that runs a job of a promise, in the program or in V8's copy, which may be not found
 * yet, but begins where a page of the heap could; the one that has called it runs microtasks. The
 * chain of what waits changes from stack to stack, so that it is not recorded with this frame.
 */
dtrace:helper:ustack:
/WANTS_ASYNC && job && !this->shared && !this->was_async &&
    (arg0 - blob - job < job_size ||
	((arg0 - job & 0x3ffff) < job_size && (arg0 < text || arg0 >= text_end))) &&
    (uint64_t)(arg1 - arg2) < 0x1000000 && WORD[arg1 + 8] - arg0 - job_caller < job_span/
{
	this->was_async = 1;
	this->task = key ? SPECIFIC[specific, INT[key]] : WORD[arg4 + isolate];
	this->task = MOVED[WORD[this->task + o_task]];
	this->j = TYPE[this->task];
	if (this->j == t_task || this->j == t_task_rejected || this->j == t_task_thenable) {
		this->is_async = 1;
		this->fresh = 1;
		this->tier = UNKNOWN;
		this->is_maglev = 0;
		this->own = "";
	}
}

/* The builtin that the handler is a closure of; -1: none. */
inline void find_builtin()
{
	this->id = -1;
	if (TYPE[this->handler] - t_function <= t_function_last - t_function) {
		this->s = MOVED[WORD[this->handler - 1 + o_shared]];
		if (TYPE[this->s] == t_shared && HALF[this->s + o_builtin] == 0)
			this->id = HALF[this->s + o_builtin + 4];
	}
}
inline int IS_AWAIT[uint64_t id] = id - id_await < 2 || id - id_await_generator < 3;
/* of Promise.all(), Promise.allSettled() and Promise.any() */
inline int IS_COMBINATOR[uint64_t id] = id - id_all < 2 || id == id_all + 3;

/*
 * The function of a generator, and where it waits: its bytecode is that of the function, or of the
 * function's baseline code. As of other frames, numbers that last say whether it was recorded.
 */
inline void find_function()
{
	this->s = MOVED[WORD[this->generator + GENERATOR_FUNCTION]];
	this->sfi = TYPE[this->s] - t_function > t_function_last - t_function ? 0 :
	    MOVED[WORD[this->s - 1 + o_shared]] - 1;
	if (!this->sfi || TYPE[this->sfi + 1] != t_shared)
		this->sfi = 0;
	this->script = this->sfi ? MOVED[WORD[this->sfi + o_script]] - 1 : 0;
	if (!this->script || TYPE[this->script + 1] != t_script)
		this->script = 0;
	this->at = (WORD[this->generator + GENERATOR_OFFSET] & 0xffffffff) ? -1 :
	    SMI[this->generator + GENERATOR_OFFSET] - (int64_t)(o_bytes - 1);
	this->is_recorded = !this->script || ucached(this->at ^ 1ull << 61,
	    WORD[this->sfi + o_script + 8],
	    WORD[this->sfi + o_script + 16] + (this->counted > COUNTED_MOST - COUNTED_ONE),
	    (WORD[WORD[this->script + SCRIPT_SOURCE] + 7] & 0xffffffff00000000) |
	    WORD[this->script + o_lines + 8] >> 32);
	if (!this->is_recorded) {
		this->bytecode = MOVED[WORD[this->sfi + O_DATA]];
		if (t_baseline && TYPE[this->bytecode] == t_baseline)
			this->bytecode = MOVED[WORD[this->bytecode + BASELINE_BYTECODE]];
		if (TYPE[this->bytecode] == t_code)
			this->bytecode = MOVED[WORD[this->bytecode - 1 + o_deopt]];
		this->table = TYPE[this->bytecode] != t_bytecode ? 0 :
		    MOVED[WORD[this->bytecode - 1 + o_positions]];
		this->position = 0;
		if (this->at >= 0 &&
		    (TYPE[this->table] == t_bytes || TYPE[this->table] == t_bytes2))
			this->position =
			    uvlqpairs(this->table + ARRAY_DATA, SMI[this->table + ARRAY_LENGTH],
			    this->at + 1, pair_flags);
		this->offset = (this->position & 1) ? 0 : this->position >> 1 & 0x3fffffff;
	}
}

/* One of the promises that Promise.all() and its like wait for. */
inline void show_combinator()
{
	this->text = this->id == id_all + 1 ? "async Promise.allSettled" :
	    this->id == id_all + 3 ? "async Promise.any" : "async Promise.all";
	if (HALF[this->handler + FUNCTION_HASH] == 0)
		uframe(this->text, " (index ", SMI[this->handler + FUNCTION_HASH] - 1, ")");
	else
		uframe(this->text);
}

/*
 * The generator that a closure of await resumes: the first one runs, and has its frame already; all
 * others are suspended. The promise of its result, or of its first request.
 */
inline void find_waiting()
{
	this->generator = MOVED[WORD[this->context + CONTEXT_FIRST]];
	this->promise = 0;
	this->k = TYPE[this->generator];
	if (this->k == t_async || this->k == t_async_generator) {
		this->at = SMI[this->generator + GENERATOR_STATE];
		if (this->n ? this->at >= 0 : this->at == RUNS)
			this->promise = MOVED[WORD[this->generator + GENERATOR_PROMISE]];
		if (this->k == t_async_generator)
			this->promise = TYPE[this->promise] == t_request ?
			    MOVED[WORD[this->promise + REQUEST_PROMISE]] : 0;
		if (this->n && this->at >= 0)
			find_function();
	}
}

/*
 * What waits for the present promise, or first for the microtask: this is the handler of the only
 * reaction. The promise that waits for the handler is the next one; without a known handler it is
 * the one that then() has made.
 */
inline void next_waiting()
{
	this->is_recorded = 1;
	this->sfi = 0;
	this->next = 0;
	this->id = -1;
	this->reaction = this->n ? 0 : this->task;
	if (this->n && (SMI[this->promise + PROMISE_FLAGS] & 3) == 0) { /* it is pending */
		this->reaction = MOVED[WORD[this->promise + PROMISE_REACTIONS]];
		if (TYPE[this->reaction] != t_reaction ||
		    WORD[this->reaction + o_handler - 16] != 0)
			this->reaction = 0;
	}
	this->promise = 0;
	if (this->reaction && !this->n && TYPE[this->reaction] == t_task_thenable) {
		this->promise = MOVED[WORD[this->reaction + o_handler - 8]];
	} else if (this->reaction) {
		this->promise = MOVED[WORD[this->reaction + o_handler + 8]];
		this->handler = MOVED[WORD[this->reaction + o_handler]];
		find_builtin();
		if (this->n && !IS_AWAIT[this->id]) {
			/* of Promise.any() it is known by the handler of rejections */
			this->j = this->id;
			this->from = this->handler;
			this->handler = MOVED[WORD[this->reaction + o_handler - 8]];
			find_builtin();
			if (this->id != id_all + 3) {
				this->id = this->j;
				this->handler = this->from;
			}
		}
	}
	if (this->id >= 0)
		this->context = MOVED[WORD[this->handler - 1 + o_shared + 8]];
	if (IS_AWAIT[this->id]) {
		find_waiting();
	} else if (this->n && IS_COMBINATOR[this->id]) {
		show_combinator();
		this->promise = MOVED[WORD[this->context + CONTEXT_SECOND]];
	} else if (this->n && this->id == id_resolve) {
		this->promise = MOVED[WORD[this->context + CONTEXT_FIRST]];
	}
	if (TYPE[this->promise] == t_capability)
		this->promise = MOVED[WORD[this->promise + CAPABILITY_PROMISE]];
	this->more = TYPE[this->promise] == t_promise;
}

/* The name, a string: of the scope, or of a function that was never compiled. */
inline void find_name()
{
	this->anon = 0;
	this->s = MOVED[WORD[this->sfi + o_name]];
	if (TYPE[this->s] == t_scope) {
		this->chars = this->s - 1;
		this->from = SMI[this->chars + SCOPE_FLAGS];
		if (is_raw)
			this->from = HALF[this->chars + SCOPE_FLAGS];
		this->j = first_var + 2 * SMI[this->chars + SCOPE_VARS] + (this->from >> 10 & 1) +
		    ((this->from & 15) == t_module) +
		    (has_receiver && (this->from >> 7 & 3) - 1 < 2);
		this->s = (this->from >> 12 & 3) ? MOVED[WORD[this->chars + 8 + 8 * this->j]] : 0;
		if ((this->from >> 14 & 1) &&
		    (TYPE[this->s] >= t_string || LENGTH[this->s] == 0)) {
			this->s =
			    WORD[this->chars + 8 +
			    8 * (this->j + ((this->from >> 12 & 3) ? 2 : 0))];
			this->anon = 1;
		}
	}
}

/* The characters of a string; one that was joined and one that stands for another lead to it. */
inline void find_characters()
{
	this->j = 0;
	this->s = MOVED[this->s];
	while (this->j < 4 && TYPE[this->s] < t_string &&
	    ((TYPE[this->s] & STRING_KIND) == THIN || ((TYPE[this->s] & STRING_KIND) == CONS &&
		LENGTH[WORD[this->s + STRING_SECOND]] == 0)); 4) {
		this->s = MOVED[WORD[this->s + STRING_FIRST]];
		this->j++;
	}
	this->chars = 0;
	this->rep = UNKNOWN_KIND;
	if (TYPE[this->s] < t_string) {
		this->rep = TYPE[this->s] & STRING_KIND;
		this->wide = !(TYPE[this->s] & ONE_BYTE);
		this->len = LENGTH[this->s];
		this->from = 0;
		if (this->rep == SLICED) {
			this->from = SMI[this->s + STRING_SECOND] << this->wide;
			this->s = MOVED[WORD[this->s + STRING_FIRST]];
			this->rep = TYPE[this->s] < t_string ? TYPE[this->s] & STRING_KIND :
			    UNKNOWN_KIND;
			if (this->rep == CONS) /* no string of V8 is a slice of such a one */
				this->rep = UNKNOWN_KIND;
		}
		if (this->rep == SEQUENTIAL)
			this->chars = this->s + STRING_CHARS + this->from;
		if (this->rep == EXTERNAL)
			this->chars = WORD[this->s + STRING_SECOND] + this->from;
	}
}

/*
 * this->text is the text of this->s, or "" if that is not known; this->is_whole: it is complete,
 * otherwise this is to be done again. V8 joins strings when somebody reads them: until then, one
 * of two parts is read, and the other one is left. One part of each pair must not be such a pair.
 */
inline void read_text()
{
	find_characters();
	this->is_whole = 1;
	if (this->rep == CONS && !this->rest && this->npairs < PAIRS_MOST) {
		if (!this->npairs) {
			this->head = "";
			this->tail = "";
		}
		this->npairs++;
		this->chars = MOVED[WORD[this->s + STRING_FIRST]];
		this->is_tail = IS_PAIR[this->chars];
		this->rest = WORD[this->s + STRING_SECOND];
		this->s = this->is_tail ? this->rest : this->chars;
		this->rest = this->is_tail ? this->chars : this->rest;
		this->is_whole = 0;
	} else {
		this->text = !this->chars || !this->len ? "" :
		    this->wide ? utf16(this->chars, this->len) : ulatin1(this->chars, this->len);
		if (this->npairs && this->chars) {
			if (this->is_tail)
				this->tail = strjoin(this->text, this->tail);
			else
				this->head = strjoin(this->head, this->text);
			this->s = this->rest;
			this->is_whole = !this->rest;
			if (this->is_whole)
				this->text = strjoin(this->head, this->tail);
		}
		this->rest = 0;
		this->is_tail = 0;
	}
}

/* Functions that follow one another have the script's name from the first of them. */
inline void read_name_and_file()
{
	this->k = 0;
	this->rest = 0;
	this->npairs = 0;
	this->is_tail = 0;
	while (this->k < 2; 2 * (2 * 12 + 1)) {
		read_text();
		if (this->is_whole && !this->k) {
			this->name = this->text;
			this->s = this->script ? WORD[this->script + SCRIPT_NAME] : 0;
			this->npairs = 0;
			if (this->script && this->script == this->named)
				this->k++;
		} else if (this->is_whole) {
			this->file = this->text;
			this->named = this->script;
		}
		this->k += this->is_whole;
	}
}

/* The characters of the source, where they are not in parts. */
inline void find_source()
{
	this->s = MOVED[WORD[this->script + SCRIPT_SOURCE]];
	if (TYPE[this->s] < t_string && (TYPE[this->s] & STRING_KIND) == CONS &&
	    LENGTH[WORD[this->s + STRING_SECOND]] == 0)
		this->s = MOVED[WORD[this->s + STRING_FIRST]]; /* it was joined */
	this->rep = TYPE[this->s] < t_string ? TYPE[this->s] & (STRING_KIND | ONE_BYTE) : 7;
	this->chars = 0;
	if ((this->rep & STRING_KIND) == SEQUENTIAL)
		this->chars = this->s + STRING_CHARS;
	if ((this->rep & STRING_KIND) == EXTERNAL)
		this->chars = WORD[this->s + STRING_SECOND];
	this->len = LENGTH[this->s];
}

/* the first letters of words as one number */
inline uint64_t WORD_DO = 0x6f64;
inline uint64_t WORD_FOR = 0x726f66;
inline uint64_t WORD_WHILE = 0x656c696877;

/*
 * Maglev peels the first round off a loop, and gives all that is in the others the position
 * of the loop: no call has one of these words there.
 */
inline void leave_loops_out()
{
	this->from = this->chars + (this->offset << !(this->rep & ONE_BYTE));
	this->j = 0;
	if (this->chars && this->offset < this->len && ucountnl(this->from, 16) >= 0) {
		this->j = WORD[this->from];
		if (!(this->rep & ONE_BYTE))
			this->j = (this->j & 0xff) | (this->j >> 8 & 0xff00) |
			    (this->j >> 16 & 0xff0000) |
			    (this->j >> 24 & 0xff000000) | (WORD[this->from + 8] & 0xff) << 32 |
			    (WORD[this->from + 8] >> 16 & 0xff) << 40;
		if ((this->j & 0xffff) == WORD_DO)
			this->j >>= 16;
		else if ((this->j & 0xffffff) == WORD_FOR)
			this->j >>= 24;
		else if ((this->j & 0xffffffffff) == WORD_WHILE)
			this->j >>= 40;
		else
			this->j = '0';
		this->j &= 0xff;
	}
	if ((this->j < '0' && this->j != '$') || this->j == '{') {
		this->chars = 0;
		this->line = 0;
		this->offset = -1;
	}
}

/*
 * The line of this->offset by counting, from the place in the same script whose line was counted
 * last, or from the beginning, if that is nearer.
 */
inline void count_lines()
{
	this->from = 0;
	this->j = 1;
	if (this->script == this->lined && this->offset >= this->lined_at / 2) {
		this->from = this->lined_at;
		this->j = this->lined_as;
	}
	this->is_back = this->offset < this->from;
	this->len = this->is_back ? this->from - this->offset : this->offset - this->from;
	this->k = ucountnl(this->chars + (this->is_back ? this->offset : this->from), this->len);
	this->counted += this->len;
	if (this->k >= 0) {
		this->line = this->is_back ? this->j - this->k : this->j + this->k;
		this->lined = this->script;
		this->lined_at = this->offset;
		this->lined_as = this->line;
	}
}

/* The line of this->offset: from V8's table if it has one, otherwise by counting. */
inline void find_line()
{
	this->offset--;
	this->s = MOVED[WORD[this->script + o_lines]];
	if (TYPE[this->s] == t_array)
		this->line = !this->offset ? 1 :
		    2 + ubsearch(this->s + ARRAY_DATA, SMI[this->s + ARRAY_LENGTH], 8, 8,
		    ((uint64_t)this->offset << 32) - 1);
	if (!this->line || (this->is_maglev && this->tier == OPTIMISED))
		find_source();
	if (this->is_maglev && this->tier == OPTIMISED)
		leave_loops_out();
	if (!this->line && this->chars && (this->rep & ONE_BYTE) &&
	    this->counted + this->offset <= COUNTED_MOST &&
	    this->offset <= COUNTED_ONE && this->offset <= this->len) {
		count_lines();
	}
	if (this->line)
		this->line += SMI[this->script + SCRIPT_LINE];
	this->offset++;
}

/*
 * The function itself gets its text at the end (this->own), unless its frame is a builtin's, which
 * keeps its name.
 */
inline void show_function()
{
	this->has_name = strlen(this->name) != 0;
	if (!this->has_name)
		this->name = "(anon)";
	if (strlen(this->file) == 0)
		this->file = "<anonymous>";
	this->k = this->sfi && this->script;
	if (this->k && this->n == 0 && !this->in_blob) {
		if (this->anon && this->has_name)
			this->name = strjoin("(anon) as ", this->name);
		this->own = strjoin(strjoin(this->name, " at "), this->file);
		if (this->line)
			this->own = strjoin(this->own, strjoin(" line ", lltostr(this->line)));
		else if (this->offset)
			this->own =
			    strjoin(this->own,
			    strjoin(" file position ", lltostr(this->offset - 1)));
	} else if (this->k) {
		this->text = this->anon && this->has_name ? "(anon) as " : "";
		if (IS_ASYNC)
			this->text = this->anon && this->has_name ? "async (anon) as " : "async ";
		if (this->line)
			uframe(this->text, this->name, " at ", this->file, " line ", this->line);
		else if (this->offset)
			uframe(this->text, this->name, " at ", this->file, " file position ",
			    this->offset - 1);
		else
			uframe(this->text, this->name, " at ", this->file);
	}
}

dtrace:helper:ustack:
/this->fresh/
{
	this->n = 0;
	this->more = 1;
	while (this->more; 64) {
		if (WANTS_ASYNC)
			this->is_recorded = 0;
		if (IS_ASYNC)
			next_waiting();
		else
			next_function();
		if (!IS_RECORDED) {
			find_name();
			read_name_and_file();
			this->line = 0;
			if (this->offset)
				find_line();
			show_function();
		}
		this->n++;
		this->position = this->next;
	}
}

dtrace:helper:ustack:
/this->fresh/
{
	this->own
}
