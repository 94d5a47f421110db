/* SPDX-License-Identifier: MIT */
/*
 * CPython 3.8 to 3.14: frames of Python functions, as "file.py:49 (function)".
 *
 * From 3.11 on, a call of one Python function by another does not recurse in C, so one native frame
 * of _PyEval_EvalFrameDefault() stands for several Python frames: in 3.11 those up to and including
 * the first one that is marked as an entry, later those up to a frame that belongs to C. Before,
 * each stands for one. The thread state is found as the interpreter finds it, in a thread-specific
 * value of the C library.
 *
 * With -x jstackasync, the coroutines of the tasks that wait for the running task of asyncio follow
 * the outermost coroutine of that task, as "async file.py:49 (function)".
 *
 * Offsets: CPython Include/internal/pycore_{frame,runtime,dict}.h, Modules/_asynciomodule.c,
 * Include/cpython/{pystate,code,unicodeobject,frameobject,genobject,funcobject}.h,
 * Objects/{locations.md,lnotab_notes.txt}.
 */
#pragma D helper exec "python3*|libpython3*"
#pragma D helper symbol "_PyEval_EvalFrameDefault"

table VERSIONS { /*	       3.8   3.9  3.10  3.11  3.12  3.13  3.14 */
	uint64_t minor	   =	 8,    9,   10,   11,   12,   13,   14;
	/* offsets in _PyRuntime; 0, here and below: _PyRuntime says itself what it is */
	uint64_t r_key	   =  1396,  588,  588,  596, 1548, 2164, 2340; /* key of thread states */
	uint64_t r_heads   =	32,   32,   32,	  40,	40,    0,    0; /* list of interpreters */
	/* of an interpreter: the next one, */
	uint64_t i_next	   =	 0,    0,    0,	   0,	 0,    0,    0;
	uint64_t i_threads =	 8,    8,    8,	  16,	72,    0,    0; /* its first thread */
	/* of a thread: its pthread_self(), */
	uint64_t t_id	   =   176,  176,  176,	 152,  136,    0,    0;
	/* its current frame, or a pointer to */
	uint64_t t_frame   =	24,   24,   24,	  56,	56,   72,    0;
	/* what has that here (_PyCFrame) */
	uint64_t c_frame   =	 0,    0,    0,	   8,	 0,    0,    0;
	/* of a frame: its code, the one that called it, its last instruction, whose it is */
	uint64_t f_code	   =	32,   32,   32,	  32,	 0,    0,    0;
	uint64_t f_back	   =	24,   24,   24,	  48,	 8,    8,    0;
	uint64_t f_last	   =   104,  104,   96,	  56,	56,   56,    0;
	uint64_t f_owner   =	70,   70,   70,	  68,	70,   70,    0;
	/* of code: its first line, file, name, table of lines, first instruction */
	uint64_t c_first   =	40,   40,   40,	  72,	68,   68,    0;
	uint64_t c_file	   =   104,  104,  104,	 112,  112,  112,    0;
	uint64_t c_name	   =   112,  112,  112,	 120,  120,  120,    0;
	uint64_t c_lines   =   120,  120,  120,	 136,  136,  136,    0;
	uint64_t c_start   =   200,  200,  200,	 184,  192,  200,    0;
	/* of a str object: its text, if it is ASCII, and if not */
	uint64_t ascii	   =	48,   48,   48,	  48,	40,   40,    0;
	uint64_t compact   =	72,   72,   72,	  72,	56,   56,   56;
	/* with -x jstackasync only; of a generator or a coroutine: its frame, or a pointer to it */
	uint8_t	 g_frame   =	16,   16,   16,	  80,	72,   72,   72;
	/* of a frame: its variables */
	uint16_t f_local   =   360,  360,  352,	  72,	72,   72,   80;
	/* of a task, behind what all futures have: its coroutine; before that, what it waits for */
	uint8_t	 t_coro	   =	 8,    8,    8,	   8,	 8,   16,   16;
	/* of a type in Python: the keys that its objects share */
	uint16_t t_keys	   =	 0,    0,    0,	 872,  880,  880,  880;
	/* of a function: its code, its closure */
	uint8_t	 d_code	   =	16,   16,   48,	  48,	48,   48,   48;
	uint8_t	 d_cells   =	48,   48,   72,	  72,	72,   72,   72;
};

uint64_t eval, eval_end; /* the interpreter loop */
uint64_t cold, cold_end; /* the part of it that the compiler has put elsewhere */
uint64_t key;		 /* the address of the key of the thread state */
uint64_t specific;	 /* where struct pthread has the values, from the thread's own address */
uint64_t heads;		   /* where the runtime has its list of interpreters */
uint64_t entered, begun; /* parts of the loop's beginning: see below */
/* in 3.11 and 3.12: where the loop has its _PyCFrame, from its stack pointer or, if negative, from
 * its frame pointer */
int64_t	 cframe;
uint64_t code_type; /* the type of code objects */

/* types, for -x jstackasync */
uint64_t coro_type, gen_type, agen_type, builtin_type, function_type, method_type, list_type;

/* a pointer to an object, which has flags in its low bits in 3.14 (_PyStackRef) */
inline uint64_t REF[uint64_t a] = WORD[a] & ~3ull;
inline uint64_t PYLEN[uint64_t o] = WORD[o + 16];
inline uint32_t PYSTATE[uint64_t o] = *(uint32_t *)(o + 32);
/* the text of a str object: ASCII, or characters of 1, 2 or 4 bytes */
inline string PYSTR[uint64_t o] = PYSTATE[o] & 0x40 ? ustr(o + ascii, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 1 ? ulatin1(o + compact, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 2 ? utf16(o + compact, PYLEN[o]) : utf32(o + compact, PYLEN[o]);

/* a number made of it; the kind says how many bytes a character has */
inline uint64_t TEXT_HASH[uint64_t o] = PYSTATE[o] & 0x40 ? uhash(o + ascii, PYLEN[o]) :
    uhash(o + compact, PYLEN[o] * (PYSTATE[o] >> 2 & 7)) + (PYSTATE[o] >> 2 & 7);

/*
 * A linker that has the whole program before it (-flto) leaves Py_Version out, but not the text,
 * such as "3.11.2". Of two such texts, one is that of something else.
 */
inline void find_version_text()
{
	this->at = secaddr(".rodata");
	this->end = this->at + secsize(".rodata");
	this->texts = 0;
	while (this->at && this->at < this->end; 32) {
		this->bytes = this->end - this->at < 0x100000 ? this->end - this->at : 0x100000;
		this->found = (ubytes(this->at, this->bytes, "33 2e 31 31 2e ?? 00") ||
		    ubytes(this->at, this->bytes, "33 2e 31 31 2e ?? ?? 00") ? 2 : 0) |
		    (ubytes(this->at, this->bytes, "33 2e 31 32 2e ?? 00") ||
		    ubytes(this->at, this->bytes, "33 2e 31 32 2e ?? ?? 00") ? 4 : 0) |
		    (ubytes(this->at, this->bytes, "33 2e 31 33 2e ?? 00") ||
		    ubytes(this->at, this->bytes, "33 2e 31 33 2e ?? ?? 00") ? 8 : 0) |
		    (ubytes(this->at, this->bytes, "33 2e 31 34 2e ?? 00") ||
		    ubytes(this->at, this->bytes, "33 2e 31 34 2e ?? ?? 00") ? 16 : 0);
		this->texts |= this->found;
		this->at += this->bytes < 0x100000 ? this->bytes : 0x100000 - 16;
	}
	this->minor = this->texts == 2 ? 11 : this->texts == 4 ? 12 : this->texts == 8 ? 13 :
	    this->texts == 16 ? 14 : 0;
}

/*
 * From 3.13 on, _PyRuntime begins with a text and the version; then offsets in structs follow,
 * those of a struct behind its size. A build without the global lock has another size of PyObject.
 */
inline void read_offsets(uint64_t runtime)
{
	if (WORD[runtime] != 0x7970677562656478 /* xdebugpy */ ||
	    WORD[runtime + 8] >> 16 != 0x300 + minor)
		udecline("it does not say where things are (_Py_DebugOffsets)");
	if (WORD[runtime + (minor == 13 ? 352 : 400)] != 16)
		udecline("it has no global lock (free threading)");
	heads = runtime + WORD[runtime + 40];
	i_next = WORD[runtime + 64];
	i_threads = WORD[runtime + 72];
	t_id = WORD[runtime + (minor == 13 ? 192 : 216)];
	if (minor > 13) {
		t_frame = WORD[runtime + 208];
		f_back = WORD[runtime + 256];
		f_last = WORD[runtime + 272];
		f_owner = WORD[runtime + 288];
		c_file = WORD[runtime + 320];
		c_name = WORD[runtime + 328];
		c_lines = WORD[runtime + 344];
		c_first = WORD[runtime + 352];
		c_start = WORD[runtime + 384];
		ascii = WORD[runtime + 640];
	}
}

/* The version: a variable has it from 3.11 on; before, the name of the file. */
dtrace:helper:attach:
{
	this->version = symaddr("Py_Version");
	this->program = objname("*python3.*");
	this->dot = index(this->program, "python3.");
	this->minor = this->version ? HALF[this->version] >> 16 & 0xff :
	    this->dot >= 0 ? strtoll(substr(this->program, this->dot + 8)) : 0;
	if (this->version && HALF[this->version] >> 24 != 3)
		this->minor = 0;
	this->searched = !this->version && !this->minor;
	if (this->searched)
		find_version_text();
	if (!VERSIONS[this->minor] || (minor < 11 && this->version) ||
	    (minor > 10 && !this->version && !this->searched))
		udecline("this version of CPython is not known (3.8 to 3.14 are)");
}

dtrace:helper:attach:
{
	this->files = symaddr("_PyEval_EvalFrameDefault", "libpython3*") ? "libpython3*" :
	    symaddr("_PyEval_EvalFrameDefault", "python3*") ? "python3*" : "*";
	eval = symaddr("_PyEval_EvalFrameDefault", this->files);
	eval_end = eval + symsize("_PyEval_EvalFrameDefault", this->files);
	this->runtime = symaddr("_PyRuntime", this->files);
	find_specific();
	specific = this->specific;
	if (!eval || !specific || !this->runtime)
		udecline("a symbol is missing");
	key = this->runtime + r_key;
	heads = this->runtime + r_heads;
	if (minor > 12)
		read_offsets(this->runtime);
}

/*
 * The interpreter loop begins by making its frame the thread's: tstate->frame = frame. Up to this
 * instruction (begun), the thread's frame is still that of the loop around this one.
 *
 * 3.11 and 3.12: tstate->cframe = &cframe, and a few instructions later cframe.current_frame = frame.
 * After the first one (entered), and until the second one is done (begun), current_frame is what was
 * on the stack before, and nothing leads from the thread's state to its frames: the _PyCFrame that
 * the loop around this one has in its own native frame does.
 *
 * The address in memory of an instruction is a base, such as the stack pointer (4) or the frame
 * pointer (5), and an offset from it. this->at is the byte that says the operation.
 */
inline void decode_operand()
{
	this->prefix = (int)BYTE[this->at - 1];
	this->operation = (int)BYTE[this->at];
	this->mode = (int)BYTE[this->at + 1];
	this->base = this->mode & 7;
	this->tail = this->at + (this->base == 4 ? 3 : 2);
	this->small = (int)BYTE[this->tail];
	this->small -= this->small > 127 ? 256 : 0;
	this->offset = this->mode >> 6 == 1 ? this->small : this->mode >> 6 == 2 ? INT[this->tail] : 0;
	this->is_wide = (this->prefix & 0xf8) == 0x48; /* eight bytes of a register */
	this->reg = (this->prefix & 4) * 2 + (this->mode >> 3 & 7);
	/* it is in the native frame; the base is none of the registers 8 to 15 */
	this->is_local = (!this->is_wide || !(this->prefix & 1)) &&
	    (this->base == 4 && BYTE[this->at + 2] == 0x24 && this->offset > 0 ||
		this->base == 5 && this->offset < 0);
}
inline void find_entered()
{
	if (this->operation == 0x8d && this->is_wide && this->is_local) {
		/* lea cframe(%rsp),%rax */
		this->local = this->reg;
		this->local_base = this->base;
		cframe = this->offset;
	} else if (this->operation == 0x89 && this->is_wide && !this->is_local &&
	    this->offset == t_frame && this->reg == this->local) {
		/* mov %rax,56(%rdi) */
		entered = this->at - 1;
	}
}
/* The store of one word or of two, one of which is current_frame. */
inline void find_begun()
{
	this->words = this->operation == 0x89 && this->is_wide ? 1 :
	    this->prefix != 0x0f ? 0 :
	    this->operation == 0x13 || this->operation == 0xd6 ? 1 :
	    this->operation == 0x11 || this->operation == 0x29 || this->operation == 0x7f ? 2 : 0;
	this->into = cframe + c_frame - this->offset;
	if (this->is_local && this->base == this->local_base && this->into >= 0 &&
	    this->into < 8 * this->words)
		begun = this->at - 1;
}

dtrace:helper:attach:
{
	code_type = symaddr("PyCode_Type", this->files);
	entered = begun = eval - 1;
	this->local = -1;
	this->at = eval + 1;
	while (begun < eval && this->at < eval + 400; 400) {
		decode_operand();
		if (t_frame != 56) {
			if (this->operation == 0x89 && this->is_wide && !this->is_local &&
			    this->offset == t_frame)
				entered = begun = this->at - 1;
		} else if (entered < eval) {
			find_entered();
		} else {
			find_begun();
		}
		this->at++;
	}
	if (begun < eval)
		entered = begun;
}

/* The cold part: by its symbol, or by the jumps to it. */
dtrace:helper:attach:
{
	this->hdr = secaddr(".eh_frame_hdr", this->files);
	cold = pieceaddr("_PyEval_EvalFrameDefault", 1, this->files);
	cold_end = cold + piecesize("_PyEval_EvalFrameDefault", 1, this->files);
	if (!cold) {
		find_cold(this->hdr, eval, eval_end);
		cold = this->cold;
		cold_end = this->cold_end;
	}
}

/* Types are known by their symbols, because Cython has a type "coroutine" of its own. */
dtrace:helper:attach:
/WANTS_ASYNC/
{
	coro_type = symaddr("PyCoro_Type", this->files);
	gen_type = symaddr("PyGen_Type", this->files);
	agen_type = symaddr("PyAsyncGen_Type", this->files);
	builtin_type = symaddr("PyCFunction_Type", this->files);
	function_type = symaddr("PyFunction_Type", this->files);
	method_type = symaddr("PyMethod_Type", this->files);
	list_type = symaddr("PyList_Type", this->files);
}

dtrace:helper:uthread:
{
	this->number = HALF[key];
	this->thread = SPECIFIC[specific, this->number];
	/* in 3.14, _PyRuntime does not say where the key is: the thread's state must be its own */
	this->frame = !this->thread || minor > 13 && WORD[this->thread + t_id] != arg4 ? 0 :
	    WORD[this->thread + t_frame];
	if (this->frame && t_frame == 56)
		this->frame = arg0 > entered && arg0 <= begun ? 0 : WORD[this->frame + c_frame];
	/* several interpreters: see below */
	this->many = *(int64_t *)(heads + 16) > 1;
	this->lowest = (uint64_t)0;
	this->is_lost = 0;
	if (this->many)
		this->frame = (uint64_t)0;
	this->hashed = (uint64_t)0;
	this->hash = (uint64_t)0;
}

/* The loop begins: it has no frame yet, and the others are where the loop around it has them. */
dtrace:helper:ustack:
/arg0 > entered && arg0 <= begun/
{
	this->frame = (uint64_t)0;
	this->is_lost = 1;
}
dtrace:helper:ustack:
/this->is_lost && (arg0 > begun && arg0 <= eval_end || arg0 > cold && arg0 <= cold_end)/
{
	this->is_lost = 0;
	this->lowest = (uint64_t)((cframe < 0 ? arg1 : arg2) + cframe);
	this->top = WORD[this->lowest + c_frame];
	/* it is one, or the fault marks the stack */
	this->frame = !code_type || WORD[WORD[this->top + f_code] + 8] == code_type ? this->top :
										      WORD[0];
}

/*
 * There is, or was, more than one interpreter (each application of mod_wsgi has its own). The
 * thread has a state for each interpreter that it has been in; the specific value is only one of
 * them. The frames of that which has entered the interpreter loop lowest in the stack are the
 * innermost ones, and so on. Where that was, is known by something of each state that lies in the
 * stack: in 3.11 and 3.12 its _PyCFrame, later the frame that belongs to C. Before, it is the
 * pointer to its innermost frame, which the loop's caller keeps because it releases the frame.
 */
dtrace:helper:ustack:
/this->many && !this->frame &&
    (arg0 > begun && arg0 <= eval_end || arg0 > cold && arg0 <= cold_end)/
{
	this->interpreter = WORD[heads];
	this->next = (uint64_t)0;
	while (this->interpreter; 32) {
		this->thread = WORD[this->interpreter + i_threads];
		while (this->thread; 256) {
			this->top = WORD[this->thread + t_id] == arg4 ?
			    WORD[this->thread + t_frame] : 0;
			this->at = this->top;
			if (this->top && t_frame == 56)
				this->top = WORD[this->at + c_frame];
			while (this->at && minor > 12 && *(uint8_t *)(this->at + f_owner) < 3;
			    1024)
				this->at = WORD[this->at + f_back];
			if (this->top && minor < 11) {
				this->at = (uint64_t)arg2;
				while (WORD[this->at] != this->top && this->at - arg2 < 2048; 256)
					this->at += 8;
				this->at = WORD[this->at] == this->top ? this->at : 0;
			}
			if (this->top && this->at > this->lowest &&
			    (!this->next || this->at < this->next)) {
				this->next = this->at;
				this->frame = this->top;
			}
			this->thread = WORD[this->thread + 8];
		}
		this->interpreter = WORD[this->interpreter + i_next];
	}
	this->lowest = this->next;
	this->many = this->next != 0;
}

/*
 * Other code may lie where some was before, and its texts and table where others were: they count as
 * a whole (of a table, the first 1,024 bytes). Names know their hash, or -1. Most frames have the
 * file of the one before.
 */
inline void find_hashes()
{
	if (this->file != this->hashed) {
		this->hashed = this->file;
		this->hash = TEXT_HASH[this->file];
	}
	this->named = WORD[this->name + 24];
	if (!~this->named)
		this->named = TEXT_HASH[this->name];
	this->lines = uhash(this->table + 32, WORD[this->table + 16]);
}

/* What is known of this->code, and the line, from its first one, of this->instr in it. */
inline void find_code()
{
	this->first = *(int *)(this->code + c_first);
	this->name = WORD[this->code + c_name];
	this->file = WORD[this->code + c_file];
	this->table = WORD[this->code + c_lines];
	find_hashes();
}
inline void find_line()
{
	this->index = minor > 10 ? (int64_t)(this->instr - this->code - c_start) / 2 :
				   (int64_t)(int)this->instr;
	this->line = this->index < 0 ? 0 :
	    minor > 10 ? ulocations(this->table + 32, WORD[this->table + 16], this->index) :
	    minor == 10 ? ulinetab(this->table + 32, WORD[this->table + 16], 2 * this->index) :
			  ulnotab(this->table + 32, WORD[this->table + 16], this->index);
}

dtrace:helper:ustack:
/this->frame && (arg0 > begun && arg0 <= eval_end || arg0 > cold && arg0 <= cold_end)/
{
	this->is_last = 0;
	while (this->frame && !this->is_last; 65536) {
		this->own = this->frame; /* the variables of the frame are found by this */
		this->owner = *(uint8_t *)(this->own + f_owner);
		this->is_last = minor < 11 ? 1 : minor == 11 ? this->owner : this->owner >= 3;
		this->code = minor > 11 && this->is_last ? 0 : REF[this->own + f_code];
		this->instr = minor > 10 ? WORD[this->own + f_last] : HALF[this->own + f_last];
		this->frame = WORD[this->own + f_back];
		this->first = 0;
		if (this->code)
			find_code();
		if (this->code && !ucached(this->code + this->hash * 31, this->instr,
			this->named + (uint64_t)this->first, this->lines)) {
			find_line();
			/*
			 * what the compiler adds, such as the end of "except ... as", can have no
			 * line
			 */
			if (this->line == -2147483648)
				uframe("@", PYSTR[this->file], " (", PYSTR[this->name], ")");
			else
				uframe("@", PYSTR[this->file], ":", this->first + this->line, " (",
				    PYSTR[this->name], ")");
		}
	}
}

/* ---- with -x jstackasync: who waits for the running task ------------------------------------- */

/*
 * The event loop runs a step of a task by Handle._run(), whose argument, the handle, leads to the
 * task. It is believed if the frame of the task's coroutine was called by that of Handle._run().
 *
 * A future (a task is one) has a list of what is called when it is done. That leads to the task
 * that waits for it, perhaps by another future: that of gather(), shield(), wait(), of wait_for()
 * before 3.12, or of a TaskGroup that its task leaves. The task is believed if it waits for the
 * last of these futures. If several tasks wait, the one that began first counts, and before all
 * others one that waits for the future itself.
 *
 * Not found: what waits for tasks whose loop is not asyncio's own (uvloop), for tasks written in
 * Python (without the module _asyncio), by as_completed(), or by a Queue, an Event or another
 * future that the program itself completes.
 */
inline uint64_t TYPE[uint64_t o] = WORD[o + 8];
inline uint64_t TYPE_NAME[uint64_t t] = WORD[t + 24]; /* tp_name */
inline uint64_t TYPE_BASE[uint64_t t] = WORD[t + 256]; /* tp_base */

/* texts, of which numbers know eight bytes */
inline int IS_NAMED_TASK[uint64_t a] =
    WORD[a] == 0x6f69636e7973615f /* _asyncio */ && WORD[a + 6] == 0x6b7361542e6f69 /* io.Task */;
inline int IS_NAMED_FUTURE[uint64_t a] =
    WORD[a] == 0x6f69636e7973615f /* _asyncio */ && WORD[a + 8] == 0x6572757475462e /* .Future */;
inline int IS_NAMED_HANDLE[uint64_t a] =
    (WORD[a] & 0xffffffffffffff) == 0x656c646e6148 /* Handle */ ||
    WORD[a] == 0x6e614872656d6954 /* TimerHan */ && WORD[a + 4] == 0x656c646e614872 /* rHandle */;
inline int IS_NAMED_PARTIAL[uint64_t a] = WORD[a] == 0x6c6f6f74636e7566 /* functool */ &&
    WORD[a + 8] == 0x6169747261702e73 /* s.partia */;
inline int IS_NAMED_STEP[uint64_t a] = /* from 3.12 on with _asyncio. */
    minor < 12 && WORD[a] == 0x706574536b736154 /* TaskStep */ ||
    minor > 11 && WORD[a] == 0x6f69636e7973615f && WORD[a + 9] == 0x706574536b736154;
inline int IS_NAMED_WAKEUP[uint64_t a] = WORD[a] == 0x656b61576b736154 /* TaskWake */;

/* the type of a task, or of one of a class that is derived from Task; of another future */
inline int IS_TASK[uint64_t t] =
    IS_NAMED_TASK[TYPE_NAME[t]] || TYPE_BASE[t] && IS_NAMED_TASK[TYPE_NAME[TYPE_BASE[t]]];
inline int IS_FUTURE[uint64_t t] = IS_NAMED_FUTURE[TYPE_NAME[t]] ||
    !IS_NAMED_TASK[TYPE_NAME[t]] && TYPE_BASE[t] && IS_NAMED_FUTURE[TYPE_NAME[TYPE_BASE[t]]];

/* the first eight bytes of a str object; the last 16 */
inline uint64_t HEAD[uint64_t o] = PYSTATE[o] & 0x40 && PYLEN[o] >= 4 ? WORD[o + ascii] : 0;
inline int ENDS[uint64_t o, uint64_t a, uint64_t b] = PYSTATE[o] & 0x40 && PYLEN[o] >= 16 &&
    WORD[o + ascii + PYLEN[o] - 16] == a && WORD[o + ascii + PYLEN[o] - 8] == b;
inline int IS_EVENTS_PY[uint64_t o] =
    ENDS[o, 0x652f6f69636e7973 /* syncio/e */, 0x79702e73746e6576 /* vents.py */];
inline int IS_TASKS_PY[uint64_t o] =
    ENDS[o, 0x2f6f69636e797361 /* asyncio/ */, 0x79702e736b736174 /* tasks.py */];
inline int IS_GROUPS_PY[uint64_t o] =
    ENDS[o, 0x676b7361742f6f69 /* io/taskg */, 0x79702e7370756f72 /* roups.py */];

inline uint64_t TUPLE_ITEMS[uint64_t t] = t + (minor > 13 ? 32 : 24);
inline uint64_t GEN_FRAME[uint64_t g] = minor > 10 ? g + g_frame : WORD[g + g_frame];
inline int IS_GEN[uint64_t t] = t == coro_type || t == gen_type || t == agen_type;
/*
 * What has a generator or a coroutine as its first member: that for which "async for" waits, and
 * what __await__() of a coroutine gives. Not all of these types have symbols, but the variables of
 * these types lie near one that has.
 */
inline int IS_NAMED_CORO_WRAPPER[uint64_t a] = WORD[a] == 0x6e6974756f726f63 /* coroutin */ &&
    WORD[a + 8] == 0x6570706172775f65 /* e_wrappe */;
inline int IS_NAMED_AGEN_SEND[uint64_t a] = WORD[a] == 0x65675f636e797361 /* async_ge */ &&
    WORD[a + 8] == 0x5f726f746172656e /* nerator_ */ && BYTE[a + 16] == 'a' /* asend or athrow */;
inline int HAS_GEN[uint64_t t] = t - coro_type + 0x10000 < 0x20000 &&
    (IS_NAMED_CORO_WRAPPER[TYPE_NAME[t]] || IS_NAMED_AGEN_SEND[TYPE_NAME[t]]);

/*
 * Sets this->at, a generator or a coroutine, to what it waits for, if that is one of these as well,
 * or to 0. A frame that is suspended in "yield from" or "await" has on top of its stack what it
 * waits for. Before 3.11, the next instruction says whether it is suspended so (YIELD_FROM), in
 * 3.11 and 3.12 the argument of the next instruction (RESUME), later the state of the generator.
 */
inline void find_next()
{
	this->body = GEN_FRAME[this->at];
	this->suspended = 0;
	this->top = (uint64_t)0;
	if (minor > 10) {
		this->suspended = BYTE[this->body - 5] == 255 &&
		    (minor > 12 || BYTE[WORD[this->body + f_last] + 3] >= 2);
		this->top = minor > 13 ? WORD[this->body + 64] :
		    this->body + f_local + 8 * (int64_t)INT[this->body + 64];
	} else if (this->body) {
		this->top = minor < 10 ?
		    WORD[this->body + 72] :
		    WORD[this->body + 64] + 8 * (int64_t)INT[this->body + 80];
		this->suspended = this->top && INT[this->body + f_last] >= 0 &&
		    BYTE[WORD[WORD[this->body + f_code] + 48] + 34 +
			(minor == 10 ? 2 : 1) * INT[this->body + f_last]] == 72;
	}
	this->at = this->suspended ? REF[this->top - 8] : 0;
	if (this->at && HAS_GEN[TYPE[this->at]])
		this->at = WORD[this->at + 16];
	if (this->at && !IS_GEN[TYPE[this->at]])
		this->at = (uint64_t)0;
}

/* Adds the frame of a coroutine. */
inline void add_async(uint64_t coro)
{
	this->body = GEN_FRAME[coro];
	this->own = this->body;
	this->code = REF[this->body + f_code];
	this->instr = minor > 10 ? WORD[this->body + f_last] : HALF[this->body + f_last];
	find_code();
	if (!ucached(this->code + this->hash * 31, this->instr,
		this->named + (uint64_t)this->first + 0x1000000000, this->lines)) {
		find_line();
		if (this->line == -2147483648)
			uframe("@async ", PYSTR[this->file], " (", PYSTR[this->name], ")");
		else
			uframe("@async ", PYSTR[this->file], ":", this->first + this->line, " (",
			    PYSTR[this->name], ")");
	}
}

/*
 * Adds the frames of a task that waits, the innermost coroutine first. The objects lead from the
 * outermost to the innermost one: so the chain is followed to its end, the last eight are added,
 * then it is followed up to these, and so on.
 */
inline void add_waiting(uint64_t coro)
{
	this->stop = (uint64_t)0;
	this->c0 = this->c1 = this->c2 = this->c3 = (uint64_t)0;
	this->c4 = this->c5 = this->c6 = this->c7 = (uint64_t)0;
	this->left = 1;
	while (this->left && this->added < 64; 8) {
		this->at = coro;
		this->left = 0;
		while (this->at && this->at != this->stop; 64) {
			this->c7 = this->c6;
			this->c6 = this->c5;
			this->c5 = this->c4;
			this->c4 = this->c3;
			this->c3 = this->c2;
			this->c2 = this->c1;
			this->c1 = this->c0;
			this->c0 = this->at;
			this->left++;
			find_next();
		}
		/* there are more: then none is added, because the innermost ones are not known */
		if (this->at != this->stop)
			this->left = 0;
		this->now = this->left < 8 ? this->left : 8;
		this->left -= this->now;
		if (this->now > 64 - this->added)
			this->now = 64 - this->added;
		this->added = this->now ? this->added + this->now : 64;
		while (this->now; 8) {
			add_async(this->c0);
			this->stop = this->c0;
			this->c0 = this->c1;
			this->c1 = this->c2;
			this->c2 = this->c3;
			this->c3 = this->c4;
			this->c4 = this->c5;
			this->c5 = this->c6;
			this->c6 = this->c7;
			this->now--;
		}
	}
}

/*
 * The values of an object's attributes and their number, if no dict has been made for them; where
 * the type has the names, in pairs of words (struct _dictkeysobject).
 */
inline void find_values(uint64_t o)
{
	this->keys = WORD[TYPE[o] + t_keys];
	this->keys = this->keys ? this->keys + 32 + (1 << BYTE[this->keys + 9]) : 0;
	this->flags = WORD[TYPE[o] + 168]; /* tp_flags: Py_TPFLAGS_MANAGED_DICT, _INLINE_VALUES */
	if (minor > 12) {
		/* behind the object (tp_basicsize): whether they are valid, how many there are */
		this->elements = this->flags & 4 ? o + WORD[TYPE[o] + 32] + 8 : 0;
		this->left = this->elements ? BYTE[this->elements - 7] : 0;
		if (this->left && !BYTE[this->elements - 5])
			this->left = 0;
	} else {
		this->elements = this->flags & 16 ? WORD[o - (minor > 11 ? 24 : 32)] : 0;
		if (minor > 11)
			this->elements = this->elements & 1 ? this->elements + 1 : 0;
		this->left = this->elements ? BYTE[this->elements - 2] : 0;
	}
	this->left = this->keys ? this->left : 0;
}

/* the beginnings of names: Lib/asyncio/{taskgroups,tasks}.py */
inline uint64_t ON_TASK_DONE = 0x6b7361745f6e6f5f;	 /* TaskGroup._on_task_done() */
inline uint64_t ON_COMPLETED_FUT = 0x706d6f635f6e6f5f; /* TaskGroup._on_completed_fut */
inline uint64_t RELEASE_WAITER = 0x657361656c65725f;	 /* _release_waiter(), of wait_for() */
inline uint64_t DONE_CALLBACK = 0x61635f656e6f645f;	 /* _done_callback(), of gather() */
inline uint64_t ON_COMPLETION = 0x706d6f635f6e6f5f;	 /* _on_completion(), of wait() */
inline uint64_t INNER_DONE_CALLBACK = 0x645f72656e6e695f; /* _inner_done_callback(), of shield() */

/*
 * A callback that is no task's own: this->next is the future that becomes done by it, or 0. It is
 * the only one among the variables of the function that gather(), shield() or wait() has made, the
 * arguments that wait_for() has given; of the attributes of a TaskGroup, it is _on_completed_fut.
 */
inline void find_next_future()
{
	this->self = this->kind == method_type ? WORD[this->callback + 24] : 0;
	this->is_partial = minor < 12 && IS_NAMED_PARTIAL[TYPE_NAME[this->kind]];
	this->called = this->kind == function_type ? this->callback :
	    this->self || this->is_partial ? WORD[this->callback + 16] : 0;
	this->elements = (uint64_t)0;
	this->keys = (uint64_t)0;
	this->left = 0;
	if (this->called && TYPE[this->called] == function_type) {
		this->code = WORD[this->called + d_code];
		this->file = WORD[this->code + c_file];
		this->head = HEAD[WORD[this->code + c_name]];
		if (this->self) {
			if (this->head == ON_TASK_DONE && IS_GROUPS_PY[this->file])
				find_values(this->self);
		} else if (IS_TASKS_PY[this->file]) {
			if (this->is_partial && this->head == RELEASE_WAITER)
				this->elements = WORD[this->callback + 24];
			else if (!this->is_partial &&
			    (this->head == DONE_CALLBACK || this->head == ON_COMPLETION ||
				this->head == INNER_DONE_CALLBACK))
				this->elements = WORD[this->callback + d_cells];
			if (this->elements) {
				this->left = INT[this->elements + 16];
				this->elements = TUPLE_ITEMS[this->elements];
			}
		}
	}
	while (this->left > 0 && !this->next; 16) {
		this->at = WORD[this->elements];
		if (this->at && this->kind == function_type)
			this->at = WORD[this->at + 16];
		if (this->keys) {
			if (HEAD[WORD[this->keys]] != ON_COMPLETED_FUT)
				this->at = (uint64_t)0;
			this->keys += 16;
		}
		this->next = this->at && IS_FUTURE[TYPE[this->at]] ? this->at : 0;
		this->elements += 8;
		this->left--;
	}
}

/* The task that waits for this->future, or 0. */
inline void find_waiter()
{
	this->task = (uint64_t)0;
	while (this->future && !this->task; 8) {
		this->callback = WORD[this->future + 24];
		this->list = WORD[this->future + 40];
		this->more = this->list && TYPE[this->list] == list_type ? INT[this->list + 16] : 0;
		this->list = this->more ? WORD[this->list + 24] : 0;
		this->next = (uint64_t)0;
		this->goes_on = 1;
		while (this->goes_on; 16) {
			this->kind = this->callback ? TYPE[this->callback] : 0;
			this->at = !this->kind ? 0 :
			    this->kind == builtin_type ? WORD[this->callback + 24] :
			    minor < 10 && IS_NAMED_WAKEUP[TYPE_NAME[this->kind]] ?
			    WORD[this->callback + 16] : 0;
			if (this->at && IS_TASK[TYPE[this->at]] &&
			    WORD[this->at + this->coro_at - 8] == this->future)
				this->task = this->at;
			else if (this->kind && !this->next)
				find_next_future();
			this->goes_on = !this->task && this->more > 0;
			if (this->goes_on) {
				this->callback = WORD[TUPLE_ITEMS[WORD[this->list]]];
				this->list += 8;
				this->more--;
			}
		}
		this->future = this->next;
	}
}

/* The task that Handle._run(), if that is what the frame belongs to, executes a step of, or 0. */
inline void find_running(uint64_t frame)
{
	this->code = REF[frame + f_code];
	this->task = (uint64_t)0;
	this->coro_at = (uint64_t)0;
	this->self = (HEAD[WORD[this->code + c_name]] & 0xffffffffff) == 0x6e75725f /* _run */ &&
	    IS_EVENTS_PY[WORD[this->code + c_file]] ? REF[frame + f_local] : 0;
	if (this->self && IS_NAMED_HANDLE[TYPE_NAME[TYPE[this->self]]]) {
		this->callback = WORD[this->self + 24];
		this->kind = this->callback ? TYPE[this->callback] : 0;
		this->at = !this->kind ? 0 :
		    this->kind == builtin_type ? WORD[this->callback + 24] :
		    IS_NAMED_STEP[TYPE_NAME[this->kind]] ||
		    minor < 10 && IS_NAMED_WAKEUP[TYPE_NAME[this->kind]] ?
		    WORD[this->callback + 16] : 0;
		this->kind = this->at ? TYPE[this->at] : 0;
		if (this->kind && IS_TASK[this->kind]) {
			this->task = this->at;
			if (!IS_NAMED_TASK[TYPE_NAME[this->kind]])
				this->kind = TYPE_BASE[this->kind];
			/* behind a future, whose size (tp_basicsize) differs in releases of 3.10 */
			this->coro_at = WORD[TYPE_BASE[this->kind] + 32] + t_coro;
		}
	}
}

/* Python's frames of the native frame have been added; this->frame is the next one behind them. */
dtrace:helper:ustack:
/WANTS_ASYNC && this->frame &&
    (arg0 > begun && arg0 <= eval_end || arg0 > cold && arg0 <= cold_end)/
{
	find_running(this->frame);
	this->coro = this->task ? WORD[this->task + this->coro_at] : 0;
	this->body = this->coro && IS_GEN[TYPE[this->coro]] ? GEN_FRAME[this->coro] : 0;
	this->back = this->body ? WORD[this->body + f_back] : 0;
	if (this->back && minor > 11) /* the frame that belongs to C is between them */
		this->back = BYTE[this->back + f_owner] < 3 ? 0 : WORD[this->back + f_back];
	this->added = 0;
	while (this->task && this->back == this->frame && this->added < 64; 64) {
		this->future = this->task;
		find_waiter();
		this->coro = this->task ? WORD[this->task + this->coro_at] : 0;
		if (this->coro && IS_GEN[TYPE[this->coro]])
			add_waiting(this->coro);
		else
			this->task = (uint64_t)0;
	}
}
