/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT 2.1 with references of 64 bits (GC64): frames of Lua functions, as "file.lua:49 (name)",
 * and of functions in C, as "[C] (name)". As in LuaJIT's tracebacks, the name is that under which
 * the calling instruction has got the function; without one it is "function <file.lua:12>", with
 * the line where the function begins, or "main chunk".
 *
 * The interpreter is one function in assembly language, which has the thread of Lua at a fixed
 * place of its native frame. A call of one Lua function by another does not recurse in it, so one
 * native frame stands for several of them: those up to and including the first one that was called
 * from C. The innermost frame is in registers (rdx: its base, rbx: the next instruction) while the
 * interpreter itself is interrupted, and in the thread while it has called something. Coroutines
 * have threads of their own, and native frames of their own.
 *
 * The code of a trace takes over the native frame of the interpreter, and may enlarge it. In both,
 * r14 leads to the state that all threads share, and to that of the compiler: which trace runs, how
 * large its frame is, and in which frame of Lua it has begun. That function is shown without a
 * line, because it is not known how far the trace has come, and without the functions that were
 * inlined into the trace. What has called it is in the thread.
 *
 * What is read at an arbitrary instruction may be half changed. A frame is shown only if the
 * function that is said to have called it has that call's instruction in its code; else it and what
 * is below it, up to the next thread, is left out.
 *
 * Offsets: lj_obj.h, lj_frame.h, lj_jit.h; instructions: lj_bc.h; names: lj_debug.c of LuaJIT.
 */
#pragma D helper exec "luajit*|libluajit*.so*"
#pragma D helper symbol "luaJIT_setmode"
#pragma D helper registers

uint64_t vm, vm_end; /* the interpreter */
uint64_t calls, calls_end; /* where it begins a call from C */
/* distances from what r14 is in the interpreter and in traces */
uint64_t to_running; /* to the number of the running trace, */
uint64_t to_thread;  /* to the running thread, */
uint64_t to_traces;  /* to the table of traces, */
uint64_t to_base;    /* to the base of the frame that the running trace has begun in */

this uint64_t shared; /* what r14 is, once it is known */
/* the next native frame was given to unwind() here, not found by the tables */
this int frame_was_chosen;
/* such a frame was walked through: uregs[] of the frames behind it are not known */
this int registers_unknown;
this uint64_t thread; /* that of the last native frame */
/*
 * the frame with which the next native one of that thread begins; 0: it has none, 1: that is not
 * known
 */
this uint64_t rest;

/* of the prototype that has called, and of the one that is shown: numbers made of them */
this uint64_t from_hashed, from_hash, hash;

/*
 * the native frame of the interpreter: its size, which traces may enlarge; from the stack pointer
 * on: the thread, the position
 */
inline int FRAME_SIZE = 80;
inline int FRAME_POSITION = 24;
inline int FRAME_THREAD = 16;
/* objects: the kind, and of functions whether they are of Lua (0) */
inline int GC_KIND = 9;
inline int KIND_THREAD = 6;
inline int KIND_PROTO = 7;
inline int KIND_FUNCTION = 8;
inline int KIND_TRACE = 9;
inline int FUNCTION_FFID = 10;
/* a thread: the shared state, the base of its innermost frame, its stack and the end of that */
inline int L_GLOBAL = 16;
inline int L_BASE = 32;
inline int L_MAXSTACK = 48;
inline int L_STACK = 56;
inline int G_DISPATCH = 184; /* what r14 is, from the shared state on, less to_running */
/* a prototype, behind which its code lies */
inline int PROTO_SIZE = 104;
inline int PROTO_NCODE = 12;
inline int PROTO_CONSTANTS = 32;
inline int PROTO_BYTES = 56; /* of all of it */
inline int PROTO_NAME = 64; /* of the chunk */
inline int PROTO_FIRST = 72;
inline int PROTO_NLINES = 76;
inline int PROTO_LINES = 80;
inline int PROTO_UPVALUES = 88; /* their names */
inline int PROTO_VARS = 96;
/* a trace: its code, how much, the frame that it has added, the instruction that it has replaced */
inline int TRACE_START = 72;
inline int TRACE_ORIGINAL = 80;
inline int TRACE_SIZE = 84;
inline int TRACE_CODE = 88;
inline int TRACE_FRAME = 102;
/* the low bits of what leads from a frame to its caller: 0 is the position of a function of Lua */
inline int LINK_KIND = 3;
inline int LINK_C = 1;
inline int LINK_TYPE = 7;
inline int LINK_CONT = 2;   /* a metamethod, or a function of C that called back */
inline int LINK_VARARG = 3; /* a function with a variable number of arguments has two frames */
/* instructions, by their numbers */
inline int OP_ISLT = 0;
inline int OP_ISLE = 2;
inline int OP_ISEQ = 4;
inline int OP_MOV = 18;
inline int OP_UNM = 20;
inline int OP_LEN = 21;
inline int OP_ADDVN = 22; /* five operators for numbers and registers in three orders */
inline int OP_POW = 37;
inline int OP_CAT = 38;
inline int OP_KNIL = 44; /* sets registers up to its second operand */
inline int OP_UGET = 45;
inline int OP_TNEW = 51; /* these three may start the collector, which calls finalizers */
inline int OP_GGET = 54;
inline int OP_GSET = 55;
inline int OP_TGETV = 56;
inline int OP_TGETS = 57;
inline int OP_TSETV = 60;
inline int OP_TSETM = 63;
inline int OP_CALLM = 65; /* the first of those that call */
inline int OP_ITERC = 69;
inline int OP_ITERN = 70; /* the last one */
/*
 * bit n: instruction n sets the register that it names; from number 64 on: all registers from that
 * one on
 */
inline uint64_t SETTERS = 0xf782ffffffc3000ull;
inline int SETTERS_ALL = 0x1fe3fe;

inline uint64_t REFERENCE[uint64_t a] = WORD[a] & (1ull << 47) - 1;
/* kinds of objects */
inline int IS_THREAD[uint64_t o] = IS_POINTER[o] && BYTE[o + GC_KIND] == KIND_THREAD;
inline int IS_FUNCTION[uint64_t o] = IS_POINTER[o] && BYTE[o + GC_KIND] == KIND_FUNCTION;
/* the prototype of a function of Lua, or 0 */
inline uint64_t PROTO[uint64_t f] = IS_FUNCTION[f] &&
    BYTE[f + FUNCTION_FFID] == 0 && BYTE[WORD[f + 32] - (PROTO_SIZE - GC_KIND)] == KIND_PROTO ?
    WORD[f + 32] - PROTO_SIZE : 0;
/* whether a position, which is that of the next instruction, belongs to a prototype's code */
inline int IS_IN[uint64_t p, uint64_t at] = p && at >= p + PROTO_SIZE &&
    at <= p + PROTO_SIZE + 4 * (uint64_t)HALF[p + PROTO_NCODE];
inline string TEXT[uint64_t s] = ustr(s + 24, HALF[s + 20]);
/* the frame below one that Lua has called: the first operand of the call says how far down it is */
inline uint64_t BELOW[uint64_t frame, uint64_t at] = frame - 8 * (2 + (uint64_t)BYTE[at - 3]);
/* whether an instruction sets the register that it names, or all registers from that one on */
inline int SETS[uint64_t op] = op < 64 ? SETTERS >> op & 1 : 0;
inline int SETS_ALL[uint64_t op] = op < 64 ? op == OP_KNIL || op == OP_TSETM :
    SETTERS_ALL >> op - 64 & 1;
/* the metamethod that an instruction may call */
inline string EVENT[uint64_t op] = op < OP_ISLE ? "__lt" : op < OP_ISEQ ? "__le" :
    op < 12 ? "__eq" :
    op == OP_UNM ? "__unm" : op == OP_LEN ? "__len" : op == OP_POW ? "__pow" :
    op == OP_CAT ? "__concat" :
    op >= OP_ADDVN && op < OP_POW ?
    strjoin("__", substr("addsubmuldivmod", 3 * (int)((op - OP_ADDVN) % 5), 3)) :
    op >= OP_TNEW && op <= OP_TNEW + 2 ? "__gc" : op == OP_GGET || op >= OP_TGETV && op <= 59 ?
    "__index" :
    op == OP_GSET || op >= OP_TSETV && op <= 64 ? "__newindex" : "";

dtrace:helper:attach:
{
	this->gettop = symaddr("lua_gettop");
	this->hdr = secaddr(".eh_frame_hdr");
	this->text = secaddr(".text");
	if (!this->gettop || !this->hdr || !this->text || !IS_TABLE[this->hdr])
		udecline("what finds the interpreter of this LuaJIT is missing");
	/* the stack's top less its base, which are at these places where references have 64 bits */
	if (!ubytes(this->gettop, 24, "48 8b 47 28 48 2b 47 20"))
		udecline("LuaJIT with references of 32 bits is not known");
	/*
	 * where the interpreter enters a trace: "sub $0x10,%rsp; mov %r12,0x10(%rsp); mov
	 * %r13,0x8(%rsp); jmp *%rax", and before that
	 */
	this->enter =
	    ubytes(this->text, secsize(".text"), "48 83 ec 10 4c 89 64 24 10 4c 89 6c 24 08 ff e0");
	/*
	 * "mov -0xb28(%r14),%rcx; mov (%rcx,%rax,8),%rax; mov 0x58(%rax),%rax; mov 0x10(%rsp),%rbp;
	 * mov %rdx,-0xe08(%r14)"
	 */
	this->load = this->enter ?
	    ubytes(this->enter - 48, 48,
	    "49 8b 8e ?? ?? ?? ?? 48 8b 04 c1 48 8b 40 58 48 8b 6c 24 10 49 89 96") : 0;
	if (!this->load)
		udecline("this LuaJIT was compiled in a way that is not known");
	to_traces = (uint64_t)INT[this->load + 3];
	to_base = (uint64_t)INT[this->load + 23];
	this->entry = ENTRY[this->hdr, this->enter];
	vm = START[this->entry];
	vm_end = END[this->entry];
	/*
	 * "mov %rbp,-0xe10(%r14); movl $0xffffffff,-0xec8(%r14)": this thread runs, in the
	 * interpreter
	 */
	this->save =
	    ubytes(vm, vm_end - vm, "49 89 ae ?? ?? ?? ?? 41 c7 86 ?? ?? ?? ?? ff ff ff ff");
	if (!this->save)
		udecline("this LuaJIT was compiled in a way that is not known");
	/*
	 * a call from C, from "push %rbx; push %r15; push %r14; sub $0x28,%rsp; mov $1,%ebx" to
	 * "mov %rcx,%rdx", which makes its frame the present one
	 */
	calls = ubytes(vm, vm_end - vm, "53 41 57 41 56 48 83 ec 28 bb 01 00 00 00");
	calls_end = calls ? ubytes(calls, 192, "48 89 ca") : 0;
	if (!calls_end)
		udecline("this LuaJIT was compiled in a way that is not known");
	calls_end += 3;
	/* the code of a protected call stands before it, and goes on in it */
	if (ubytes(calls - 22, 22, "55 53 41 57 41 56 48 83 ec 28 bb 05 00 00 00"))
		calls -= 22;
	to_thread = (uint64_t)INT[this->save + 3];
	to_running = (uint64_t)INT[this->save + 10];
}

/*
 * Of the interrupted frame, the unwind table says the same everywhere. But it may be not yet
 * complete ("push %rbp; push %rbx; push %r15; push %r14; sub $0x28,%rsp") or half removed ("pop
 * %r14; pop %r15; pop %rbx; pop %rbp; ret"), or larger by return addresses in subroutines of the
 * interpreter.
 */
inline void find_frame_size()
{
	this->bytes = WORD[arg0];
	this->size = this->bytes == 0x8348564157415355 ||
	    BYTE[arg0] == 0xc3 && BYTE[arg0 - 1] == 0x5d ? 8 :
	    this->bytes == 0xec83485641574153 || (this->bytes & 0xffff) == 0xc35d ? 16 :
	    this->bytes == 0x28ec834856415741 || (this->bytes & 0xffffff) == 0xc35d5b ? 24 :
	    (this->bytes & 0xffffffffffff) == 0x28ec83485641 ||
	    (this->bytes & 0xffffffffff) == 0xc35d5b5f41 ? 32 :
	    (this->bytes & 0xffffffff) == 0x28ec8348 ||
	    (this->bytes & 0xffffffffffffff) == 0xc35d5b5f415e41 ? 40 : FRAME_SIZE;
}

/* The stack pointer that the interrupted frame has outside of such places (this->sp), or 0. */
inline void find_frame()
{
	find_frame_size();
	this->state = uregs[R_R14];
	this->current = this->size == FRAME_SIZE && (arg0 < calls || arg0 > calls_end) &&
	    IS_POINTER[this->state] ? WORD[this->state + to_thread] : 0;
	while (this->current && this->size < 104 && WORD[arg2 + this->size - 64] != this->current;
	    3)
		this->size += 8;
	if (this->size == 104)
		/* a coroutine has just come to its end: the present thread is still that */
		this->size = FRAME_SIZE;
	this->sp = this->size < FRAME_SIZE || this->size > 96 ? 0 : arg2 + this->size - FRAME_SIZE;
	this->frame_was_chosen = this->size != FRAME_SIZE && this->size <= 96;
	if (this->frame_was_chosen)
		unwind(WORD[arg2 + this->size - 8], arg2 + this->size, this->size == 8 ? arg1 :
		    WORD[arg2 + this->size - 16]);
}

/* In code of a trace: the native frame that the trace has taken over. */
inline void find_trace_frame()
{
	this->state = this->shared ? this->shared : this->registers_unknown ? 0 : uregs[R_R14];
	this->current = IS_POINTER[this->state] ? WORD[this->state + to_thread] : 0;
	this->running = this->current ? HALF[this->state + to_running] : 0;
	this->look = 2;
	while (this->look; 2) {
		this->look--;
		this->trace = this->running - 1 < 65535 ?
		    WORD[WORD[this->state + to_traces] + 8 * this->running] : 0;
		this->in_trace = IS_POINTER[this->trace] &&
		    arg0 - WORD[this->trace + TRACE_CODE] < HALF[this->trace + TRACE_SIZE] + !!arg3;
		if (this->in_trace)
			this->look = 0;
		/* it begins with "movl $number,-0xec8(%r14)", which may still be to come */
		this->n = 0;
		while (this->look && this->current && this->n < 36; 36) {
			if ((HALF[arg0 + this->n] & 0xffffff) == 0x86c741 &&
			    HALF[arg0 + this->n + 3] == (uint32_t)to_running) {
				this->running = HALF[arg0 + this->n + 7];
				this->n = 36;
			}
			this->n++;
		}
	}
	this->sp = this->in_trace ? arg2 + 16 + (uint64_t)SHORT[this->trace + TRACE_FRAME] : 0;
	if (this->sp && WORD[this->sp + FRAME_THREAD] != this->current)
		this->sp = 0;
}

/* The interpreter has called something: the innermost frame is in the thread. */
inline void find_calling()
{
	this->frame = WORD[this->own + L_BASE] - 8;
	this->at = WORD[this->sp + FRAME_POSITION];
	/*
	 * for what is soon done, nothing is written down: rbx is still the next instruction, and
	 * the base is kept in rbp
	 */
	if (!this->registers_unknown && uregs[R_RBX] > 65535 && uregs[R_RBX] < 1ull << 47) {
		this->up = uregs[R_RBP] - 8;
		if (this->up > this->bottom && this->up < WORD[this->own + L_MAXSTACK] &&
		    IS_IN[PROTO[REFERENCE[this->up - 8]], uregs[R_RBX]]) {
			this->frame = this->up;
			this->at = uregs[R_RBX];
		} else if (IS_IN[PROTO[REFERENCE[this->frame - 8]], uregs[R_RBX]])
			this->at = uregs[R_RBX];
	}
}

/* The position in rbx is none of the function in rdx: what goes on there? */
inline void find_between()
{
	this->look = this->at > 65535 && this->at < 1ull << 47 && !(this->at & 3);
	this->up = this->look ? BELOW[this->frame, this->at] : 0;
	this->function = REFERENCE[this->frame - 8];
	this->trace = this->at & 7 ? this->at - (TRACE_ORIGINAL + 4) : this->at - TRACE_ORIGINAL;
	/*
	 * a function just calls another one, or that has just returned to it: only the first is
	 * shown
	 */
	if (this->up > this->bottom && IS_IN[PROTO[REFERENCE[this->up - 8]], this->at])
		this->frame = this->up;
	/*
	 * the instruction, which a trace has replaced, is executed from the copy that the trace has
	 * of it
	 */
	else if (this->look && BYTE[this->trace + GC_KIND] == KIND_TRACE &&
	    IS_IN[PROTO[this->function], WORD[this->trace + TRACE_START]])
		this->at = WORD[this->trace + TRACE_START] + 4;
	else if (!IS_FUNCTION[this->function] || BYTE[this->function + FUNCTION_FFID] == 0)
		this->frame = 1;
}

/* The interpreter itself is interrupted: the innermost frame is in registers. */
inline void find_interrupted()
{
	this->thread = this->own;
	this->rest = 1; /* unless something is found */
	this->base = WORD[this->own + L_BASE];
	this->frame = uregs[R_RDX] - 8;
	this->at = uregs[R_RBX];
	this->state = uregs[R_R14];
	this->below = 0ull;
	if (!IS_POINTER[this->frame] || this->frame <= this->bottom ||
	    this->frame >= WORD[this->own + L_MAXSTACK]) {
		/* a function of C has just returned */
		this->frame = this->base - 8;
		this->at = WORD[this->sp + FRAME_POSITION];
	} else if (HALF[this->state + to_running] == 0xfffffffe &&
	    (this->at > this->bottom && this->at < this->frame ||
	    -this->at > this->bottom && -this->at < this->frame)) {
		/*
		 * a function of Lua returns to C, and rbx is the base of what has called; one
		 * instruction before, its negative
		 */
		this->below = (this->at >> 63 ? -this->at : this->at) - 8;
		/* earlier, the distance to it */
	} else if ((this->at ^ WORD[this->frame]) < 8 && (this->at & ~7ull) &&
	    this->at < this->frame - this->bottom) {
		this->below = (WORD[this->frame] & LINK_KIND) == LINK_C ?
		    this->frame - (this->at & ~7ull) : 1;
	} else if (this->at >= 1ull << 47 || this->at & 3 ||
	    !IS_IN[PROTO[REFERENCE[this->frame - 8]], this->at]) {
		find_between();
	}
	if (this->below) {
		this->rest = this->below > this->bottom ? this->below : this->below & 1;
		this->frame = 0;
	}
}

/*
 * The innermost frame of Lua in this native frame, and its position, which is that of the next
 * instruction.
 */
inline void find_innermost()
{
	this->shared = WORD[this->own + L_GLOBAL] + G_DISPATCH - to_running;
	this->bottom = WORD[this->own + L_STACK] + 8;
	if (this->in_trace) {
		this->frame = WORD[this->shared + to_base] - 8;
	} else if (this->own == this->thread) {
		this->frame = this->rest;
		this->at = WORD[this->sp + FRAME_POSITION];
	} else if (arg3) {
		find_calling();
	} else if (arg0 < calls || arg0 > calls_end) {
		find_interrupted();
	} else {
		this->frame = 0; /* C just calls a function of Lua */
	}
	if (this->frame) {
		this->thread = this->own;
		this->rest = this->frame <= this->bottom ? this->frame & 1 : this->frame;
	}
}

/*
 * What has called the frame's function: the frame below, and if that is a function of Lua, it
 * (this->from) and the position in it.
 */
inline void find_caller()
{
	/*
	 * a function with a variable number of arguments has two frames: the outer one leads to
	 * what called it
	 */
	this->up = this->frame;
	this->link = WORD[this->up];
	if ((this->link & LINK_TYPE) == LINK_VARARG) {
		this->up -= this->link & ~7ull;
		this->link = WORD[this->up];
	}
	this->from = 0ull;
	this->from_at = 0ull;
	this->is_last = (uint64_t)0;
	if ((this->link & LINK_KIND) == 0) {
		this->below = IS_POINTER[this->link & ~4ull] ? BELOW[this->up, this->link] : 1;
		this->from_at = this->link;
		this->from = this->below > this->bottom ? PROTO[REFERENCE[this->below - 8]] : 0;
		if (!IS_IN[this->from, this->from_at])
			this->below = 1;
	} else {
		this->below = this->up - (this->link & ~7ull);
		this->is_last = (this->link & LINK_KIND) == LINK_C;
		if ((this->link & LINK_TYPE) == LINK_CONT) {
			/* what called a metamethod, or a function of C that called back */
			this->is_last = WORD[this->up - 24] == 1;
			this->from = this->below > this->bottom ?
			    PROTO[REFERENCE[this->below - 8]] : 0;
			this->from_at = WORD[this->up - 16];
			if (!IS_IN[this->from, this->from_at])
				this->from = 0;
		}
	}
	if (this->below >= this->up)
		this->below = 1;
}

/*
 * What the instruction that calls says of the name: that of a metamethod, or (this->look) the
 * register that is called.
 */
inline void name_of_call()
{
	this->code = this->from + PROTO_SIZE;
	this->pc = (int)((this->from_at - this->code) / 4) - 1;
	this->insn = HALF[this->code + 4 * this->pc];
	this->op = (uint64_t)(this->insn & 255);
	this->reg = (int)(this->insn >> 8 & 255) - 3 * (this->op == OP_ITERC);
	this->look = this->op >= OP_CALLM && this->op <= OP_ITERN;
	this->name = this->look ? "" : EVENT[this->op];
}

/*
 * The local variable in the register, or 0. Of each: a name, or a byte below 7 for what has none in
 * the program, and the differences from where the one before began, and to its end.
 */
inline void find_local()
{
	this->vars = WORD[this->from + PROTO_VARS];
	this->left = this->reg + 1;
	this->var = 0ull;
	this->begin = 0;
	while (this->vars && BYTE[this->vars]; 256) {
		this->text = this->vars;
		this->vars += BYTE[this->vars] < 7 ? 1 :
		    (uint64_t)strlen(copyinstr(this->vars)) + 1;
		this->k = 0;
		while (this->k < 2; 2) {
			this->n = (int)BYTE[this->vars];
			this->vars++;
			if (this->n & 128) {
				this->n = this->n & 127 | (int)BYTE[this->vars] << 7;
				this->vars++;
			}
			if (this->n & 16384) {
				this->n = this->n & 16383 | (int)BYTE[this->vars] << 14;
				this->vars++;
			}
			this->begin += this->k ? 0 : this->n;
			this->k++;
		}
		this->left -= this->begin <= this->pc && this->pc < this->begin + this->n;
		this->var = this->left ? 0 : this->text;
		if (this->var || this->begin > this->pc)
			this->vars = 0;
	}
}

/* The last instruction that sets the register; calls set all from theirs on. */
inline void find_setter()
{
	this->set = -1;
	this->index = this->var ? 0 : this->pc;
	this->op = 0;
	while (this->index > 1 && this->set < 0; 1024) {
		this->index--;
		this->insn = HALF[this->code + 4 * this->index];
		this->op = (uint64_t)(this->insn & 255);
		this->a = (int)(this->insn >> 8 & 255);
		if (SETS[this->op] && this->a == this->reg ||
		    SETS_ALL[this->op] && this->a <= this->reg &&
		    (this->op != OP_KNIL || this->reg <= (int)(this->insn >> 16)))
			this->set = this->index;
	}
}

/* The name of what was found, or (this->look) another register to look for. */
inline void name_of_register()
{
	this->look = 0;
	if (this->var) {
		this->n = (int)BYTE[this->var];
		this->name = this->n >= 7 ? copyinstr(this->var) : this->n == 1 ? "(for index)" :
		    this->n == 2 ? "(for limit)" : this->n == 3 ? "(for step)" :
		    this->n == 4 ? "(for generator)" : this->n == 5 ? "(for state)" :
		    "(for control)";
	} else if (this->set < 0)
		this->name = "";
	else if (this->op == OP_MOV) {
		this->look = 1;
		this->reg = (int)(this->insn >> 16);
	} else if (this->op == OP_GGET || this->op == OP_TGETS) {
		this->n = (int)(this->op == OP_GGET ? this->insn >> 16 : this->insn >> 16 & 255);
		this->name =
		    TEXT[WORD[WORD[this->from + PROTO_CONSTANTS] - 8 * (uint64_t)(this->n + 1)]];
	} else if (this->op == OP_UGET) {
		this->vars = WORD[this->from + PROTO_UPVALUES];
		this->left = (int)(this->insn >> 16);
		while (this->vars && this->left > 0; 60) {
			this->vars += (uint64_t)strlen(copyinstr(this->vars)) + 1;
			this->left--;
		}
		this->name = this->vars ? copyinstr(this->vars) : "";
	}
}

/* The name of the file, or of what the function was compiled from. */
inline void find_file()
{
	this->var = WORD[this->proto + PROTO_NAME];
	this->file = TEXT[this->var];
	this->op = (uint64_t)BYTE[this->var + 24];
	this->first = INT[this->proto + PROTO_FIRST];
	this->n = INT[this->proto + PROTO_NLINES];
	if (this->op == '@' || this->op == '=')
		this->file = substr(this->file, 1);
	else if (this->first == -1)
		this->file = strjoin("[builtin:", strjoin(this->file, "]"));
	else {
		this->set = index(this->file, "\n");
		this->left = this->set >= 0 || strlen(this->file) > 48;
		this->file = substr(this->file, 0, this->set >= 0 && this->set < 45 ? this->set :
		    this->left ? 45 : 48);
		this->file =
		    strjoin("[string \"", strjoin(this->file, this->left ? "...\"]" : "\"]"));
	}
}

inline void show_function()
{
	find_file();
	if (!strlen(this->name))
		this->name = !this->first && this->n ? "main chunk" :
		    strjoin("function <",
		    strjoin(this->file, strjoin(":", strjoin(lltostr(this->first), ">"))));
	this->vars = this->at ? WORD[this->proto + PROTO_LINES] : 0;
	this->pc = (int)((this->at - this->proto - PROTO_SIZE) / 4) - 1;
	this->line = this->first;
	if (this->vars && this->pc > 0)
		this->line += this->n < 256 ? (int)BYTE[this->vars + this->pc - 1] :
		    this->n < 65536 ? (int)SHORT[this->vars + 2 * (this->pc - 1)] :
		    INT[this->vars + 4 * (this->pc - 1)];
	if (this->vars)
		uframe("@", this->file, ":", this->line, " (", this->name, ")");
	else
		uframe("@", this->file, " (", this->name, ")");
}

inline void name_frame()
{
	this->name = "";
	this->look = 0;
	if (this->from)
		name_of_call();
	while (this->look; 8) {
		find_local();
		find_setter();
		name_of_register();
		this->pc = this->set;
	}
	if (!this->proto)
		uframe("@[C] (", strlen(this->name) ? this->name : "?", ")");
	if (this->proto)
		show_function();
}

/* a number made of a prototype: the name of its chunk, and all that lies in its block */
inline uint64_t PROTO_HASH[uint64_t p] =
    uhash(p + PROTO_NAME, HALF[p + PROTO_BYTES] - PROTO_NAME) +
    31 * uhash(WORD[p + PROTO_NAME] + 24, HALF[WORD[p + PROTO_NAME] + 20]);

/*
 * Prototypes and strings are collected, and others come to lie there. The whole name of the chunk
 * counts, and of the prototype, which has its code, lines and names of variables in one block, the
 * first 1,024 bytes. What has called is the next one that is shown.
 */
inline void find_hashes()
{
	if (this->proto != this->from_hashed)
		this->hash = this->proto ? PROTO_HASH[this->proto] : 0;
	else
		this->hash = this->from_hash;
	if (this->from != this->proto)
		this->from_hash = this->from ? PROTO_HASH[this->from] : 0;
	else
		this->from_hash = this->hash;
	this->from_hashed = this->from;
}

/* Shows the frame this->frame, and goes on to the one that has called it. */
inline void show_next_frame()
{
	this->function = REFERENCE[this->frame - 8];
	this->proto = PROTO[this->function];
	find_caller();
	if (!IS_IN[this->proto, this->at])
		this->at = 0;
	this->is_shown = this->below != 1 && IS_FUNCTION[this->function];
	if (this->is_shown)
		find_hashes();
	if (this->is_shown &&
	    !ucached((this->proto ? this->proto : this->function) ^ 1ull << 61,
	    this->at ^ this->from << 20, this->from_at,
	    this->hash + this->from_hash * 31))
		name_frame();
	this->at = this->from_at;
	/* what is not understood is not shown, nor what is below it */
	this->rest = this->below == 1 ? 1 : this->is_last && this->below > this->bottom ?
	    this->below : 0;
	this->frame = this->is_last || this->below == 1 ? 0 : this->below;
}

dtrace:helper:ustack:
/to_running && (arg0 >= vm && arg0 <= vm_end || arg5 || arg6)/
{
	this->sp = arg5 || arg6 ? 0 : arg2;
	this->registers_unknown |= this->frame_was_chosen;
	this->frame_was_chosen = 0;
	this->in_trace = (uint64_t)0;
	if (this->sp && !arg3)
		find_frame();
	if (arg5 || arg6)
		find_trace_frame();
	this->own = this->sp ? WORD[this->sp + FRAME_THREAD] : 0;
	if (!IS_THREAD[this->own])
		this->own = 0;
	else if (this->in_trace) {
		this->frame_was_chosen = 1;
		unwind(WORD[this->sp + (FRAME_SIZE - 8)], this->sp + FRAME_SIZE,
		    WORD[this->sp + (FRAME_SIZE - 16)]);
	}
	this->frame = (uint64_t)1;
	this->at = 0ull;
	if (this->own)
		find_innermost();
	while (this->own && this->frame > this->bottom; 65536)
		show_next_frame();
}
