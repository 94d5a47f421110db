/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT 2.1 with references of 64 bits (GC64): frames of Lua functions, as "file.lua:49 (name)", and of functions in C, as "[C] (name)".
 * As in LuaJIT's tracebacks, the name is that under which the calling instruction has got the function;
 * without one it is "function <file.lua:12>", with the line where the function begins, or "main chunk".
 *
 * The interpreter is one function in assembly language, which has the thread of Lua at a fixed place of its
 * native frame. A call of one Lua function by another does not recurse in it, so one native frame stands for
 * several of them: those up to and including the first one that was called from C. The innermost frame is in
 * registers (rdx: its base, rbx: the next instruction) while the interpreter itself is interrupted, and in the
 * thread while it has called something. Coroutines have threads of their own, and native frames of their own.
 *
 * The code of a trace takes over the native frame of the interpreter, and may enlarge it. In both, r14 leads to the state
 * that all threads share, and to that of the compiler: which trace runs, how large its frame is, and in which frame of Lua it has
 * begun. That function is shown without a line, because it is not known how far the trace has come, and without the functions
 * that were inlined into the trace. What has called it is in the thread.
 *
 * What is read at an arbitrary instruction may be half changed. A frame is shown only if the function that is said to have
 * called it has that call's instruction in its code; else it and what is below it, up to the next thread, is left out.
 *
 * Offsets: lj_obj.h, lj_frame.h, lj_jit.h; instructions: lj_bc.h; names: lj_debug.c of LuaJIT.
 */
#pragma D helper exec "luajit*|libluajit*.so*"
#pragma D helper symbol "luaJIT_setmode"
#pragma D helper registers

uint64_t vm, vm_end; /* the interpreter */
uint64_t calls, calls_end; /* where it begins a call from C */
/* distances from what r14 is there, to: the number of the running trace; the running thread; the table of traces; the base of a trace's frame */
uint64_t to_running, to_thread, to_traces, to_base;

this uint64_t shared; /* what r14 is, once it is known */
this int moves;    /* the next native frame was chosen here, and */
this int is_blind; /* so it is not known what registers it has kept */
this uint64_t thread; /* that of the last native frame, and */
this uint64_t rest;   /* the frame with which the next native one of that thread begins; 0: it has none, 1: that is not known */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
inline uint8_t BYTE[uint64_t a] = *(uint8_t *)a;
inline uint64_t REFERENCE[uint64_t a] = WORD[a] & (1ull << 47) - 1;
inline int IS_POINTER[uint64_t a] = a >= 65536 && !(a & 7) && a < 1ull << 47;
/* kinds of objects */
inline int IS_THREAD[uint64_t o] = IS_POINTER[o] && BYTE[o + 9] == 6;
inline int IS_FUNCTION[uint64_t o] = IS_POINTER[o] && BYTE[o + 9] == 8;
/* the prototype of a function of Lua, or 0 */
inline uint64_t PROTO[uint64_t f] = IS_FUNCTION[f] && BYTE[f + 10] == 0 && BYTE[WORD[f + 32] - 95] == 7 ? WORD[f + 32] - 104 : 0;
/* whether a position, which is that of the next instruction, belongs to a prototype's code */
inline int IS_IN[uint64_t p, uint64_t at] = p && at >= p + 104 && at <= p + 104 + 4 * (uint64_t)HALF[p + 12];
inline string TEXT[uint64_t s] = ustr(s + 24, HALF[s + 20]);
/* the frame below one that Lua has called: the first operand of the call says how far down it is */
inline uint64_t BELOW[uint64_t frame, uint64_t at] = frame - 8 * (2 + (uint64_t)BYTE[at - 3]);
/* whether an instruction sets the register that it names, or all registers from that one on */
inline int SETS[uint64_t op] = op < 64 ? 0xf782ffffffc3000ull >> op & 1 : 0;
inline int SETS_ALL[uint64_t op] = op < 64 ? op == 44 || op == 63 : 0x1fe3fe >> op - 64 & 1;
inline string EVENT[uint64_t op] = op < 2 ? "__lt" : op < 4 ? "__le" : op < 12 ? "__eq" : op == 20 ? "__unm" : op == 21 ? "__len" :
    op == 37 ? "__pow" : op == 38 ? "__concat" : op >= 22 && op < 37 ? strjoin("__", substr("addsubmuldivmod", 3 * (int)((op - 22) % 5), 3)) :
    op >= 51 && op <= 53 ? "__gc" : op == 54 || op >= 56 && op <= 59 ? "__index" : op == 55 || op >= 60 && op <= 64 ? "__newindex" : "";
/* in attach clauses: the entry of the table of functions that has an address, its start */
inline uint64_t UNWIND[uint64_t h, uint64_t a] =
    h + *(int *)(h + 16 + 8 * ubsearch(h + 12, HALF[h + 8], 8, 4, (uint32_t)(a - h)));
inline uint64_t START[uint64_t e] = e + 8 + *(int *)(e + 8);

dtrace:helper:attach:
{
	this->gettop = symaddr("lua_gettop");
	this->hdr = secaddr(".eh_frame_hdr");
	this->text = secaddr(".text");
	if (!this->gettop || !this->hdr || !this->text || HALF[this->hdr] != 0x3b031b01)
		udecline("what finds the interpreter of this LuaJIT is missing");
	/* the stack's top less its base, which are at these places where references have 64 bits */
	if (!ubytes(this->gettop, 24, "48 8b 47 28 48 2b 47 20"))
		udecline("LuaJIT with references of 32 bits is not known");
	/* where the interpreter enters a trace: "sub $0x10,%rsp; mov %r12,0x10(%rsp); mov %r13,0x8(%rsp); jmp *%rax", and before that */
	this->enter = ubytes(this->text, secsize(".text"), "48 83 ec 10 4c 89 64 24 10 4c 89 6c 24 08 ff e0");
	/* "mov -0xb28(%r14),%rcx; mov (%rcx,%rax,8),%rax; mov 0x58(%rax),%rax; mov 0x10(%rsp),%rbp; mov %rdx,-0xe08(%r14)" */
	this->load = this->enter ? ubytes(this->enter - 48, 48, "49 8b 8e ?? ?? ?? ?? 48 8b 04 c1 48 8b 40 58 48 8b 6c 24 10 49 89 96") : 0;
	if (!this->load)
		udecline("this LuaJIT was compiled in a way that is not known");
	to_traces = (uint64_t)*(int *)(this->load + 3);
	to_base = (uint64_t)*(int *)(this->load + 23);
	this->entry = UNWIND[this->hdr, this->enter];
	vm = START[this->entry];
	vm_end = vm + HALF[this->entry + 12];
	/* "mov %rbp,-0xe10(%r14); movl $0xffffffff,-0xec8(%r14)": this thread runs, in the interpreter */
	this->save = ubytes(vm, vm_end - vm, "49 89 ae ?? ?? ?? ?? 41 c7 86 ?? ?? ?? ?? ff ff ff ff");
	if (!this->save)
		udecline("this LuaJIT was compiled in a way that is not known");
	/* a call from C, from "push %rbx; push %r15; push %r14; sub $0x28,%rsp; mov $1,%ebx" to "mov %rcx,%rdx", which makes its frame the present one */
	calls = ubytes(vm, vm_end - vm, "53 41 57 41 56 48 83 ec 28 bb 01 00 00 00");
	calls_end = calls ? ubytes(calls, 192, "48 89 ca") : 0;
	if (!calls_end)
		udecline("this LuaJIT was compiled in a way that is not known");
	calls_end += 3;
	/* the code of a protected call stands before it, and goes on in it */
	if (ubytes(calls - 22, 22, "55 53 41 57 41 56 48 83 ec 28 bb 05 00 00 00"))
		calls -= 22;
	to_thread = (uint64_t)*(int *)(this->save + 3);
	to_running = (uint64_t)*(int *)(this->save + 10);
}

dtrace:helper:ustack:
/to_running && (arg0 >= vm && arg0 <= vm_end || arg5 || arg6)/
{
	this->sp = arg5 || arg6 ? 0 : arg2;
	this->is_blind |= this->moves;
	this->moves = 0;
	this->in_trace = (uint64_t)0;
	/*
	 * Of the interrupted frame, the unwind table says the same everywhere. But it may be not yet complete ("push %rbp; push %rbx; push %r15; push %r14;
	 * sub $0x28,%rsp") or half removed ("pop %r14; pop %r15; pop %rbx; pop %rbp; ret"), or larger by return addresses in subroutines of the interpreter.
	 */
	if (this->sp && !arg3) {
		this->bytes = WORD[arg0];
		this->size = this->bytes == 0x8348564157415355 || BYTE[arg0] == 0xc3 && BYTE[arg0 - 1] == 0x5d ? 8 :
		    this->bytes == 0xec83485641574153 || (this->bytes & 0xffff) == 0xc35d ? 16 :
		    this->bytes == 0x28ec834856415741 || (this->bytes & 0xffffff) == 0xc35d5b ? 24 :
		    (this->bytes & 0xffffffffffff) == 0x28ec83485641 || (this->bytes & 0xffffffffff) == 0xc35d5b5f41 ? 32 :
		    (this->bytes & 0xffffffff) == 0x28ec8348 || (this->bytes & 0xffffffffffffff) == 0xc35d5b5f415e41 ? 40 : 80;
		this->state = uregs[R_R14];
		this->current = this->size == 80 && (arg0 < calls || arg0 > calls_end) && IS_POINTER[this->state] ? WORD[this->state + to_thread] : 0;
		while (this->current && this->size < 104 && WORD[arg2 + this->size - 64] != this->current; 3)
			this->size += 8;
		if (this->size == 104)
			this->size = 80; /* a coroutine has just come to its end: the present thread is still that */
		this->sp = this->size < 80 || this->size > 96 ? 0 : arg2 + this->size - 80;
		this->moves = this->size != 80 && this->size <= 96;
		if (this->moves)
			unwind(WORD[arg2 + this->size - 8], arg2 + this->size, this->size == 8 ? arg1 : WORD[arg2 + this->size - 16]);
	}
	if (arg5 || arg6) {
		this->state = this->shared ? this->shared : this->is_blind ? 0 : uregs[R_R14];
		this->current = IS_POINTER[this->state] ? WORD[this->state + to_thread] : 0;
		this->running = this->current ? HALF[this->state + to_running] : 0;
		this->look = 2;
		while (this->look; 2) {
			this->look--;
			this->trace = this->running - 1 < 65535 ? WORD[WORD[this->state + to_traces] + 8 * this->running] : 0;
			this->in_trace = IS_POINTER[this->trace] && arg0 - WORD[this->trace + 88] < HALF[this->trace + 84] + !!arg3;
			if (this->in_trace)
				this->look = 0;
			/* it begins with "movl $number,-0xec8(%r14)", which may still be to come */
			this->n = 0;
			while (this->look && this->current && this->n < 36; 36) {
				if ((HALF[arg0 + this->n] & 0xffffff) == 0x86c741 && HALF[arg0 + this->n + 3] == (uint32_t)to_running) {
					this->running = HALF[arg0 + this->n + 7];
					this->n = 36;
				}
				this->n++;
			}
		}
		this->sp = this->in_trace ? arg2 + 16 + (uint64_t)*(uint16_t *)(this->trace + 102) : 0;
		if (this->sp && WORD[this->sp + 16] != this->current)
			this->sp = 0;
	}
	this->own = this->sp ? WORD[this->sp + 16] : 0;
	if (!IS_THREAD[this->own])
		this->own = 0;
	else if (this->in_trace) {
		this->moves = 1;
		unwind(WORD[this->sp + 72], this->sp + 80, WORD[this->sp + 64]);
	}

	/* the innermost frame of Lua in this native frame, and its position, which is that of the next instruction */
	this->frame = (uint64_t)1;
	this->at = 0ull;
	if (this->own) {
		this->shared = WORD[this->own + 16] + 184 - to_running;
		this->bottom = WORD[this->own + 56] + 8;
		if (this->in_trace) {
			this->frame = WORD[this->shared + to_base] - 8;
		} else if (this->own == this->thread) {
			this->frame = this->rest;
			this->at = WORD[this->sp + 24];
		} else if (arg3) {
			this->frame = WORD[this->own + 32] - 8;
			this->at = WORD[this->sp + 24];
			/* for what is soon done, nothing is written down: rbx is still the next instruction, and the base is kept in rbp */
			if (!this->is_blind && uregs[R_RBX] > 65535 && uregs[R_RBX] < 1ull << 47) {
				this->up = uregs[R_RBP] - 8;
				if (this->up > this->bottom && this->up < WORD[this->own + 48] && IS_IN[PROTO[REFERENCE[this->up - 8]], uregs[R_RBX]]) {
					this->frame = this->up;
					this->at = uregs[R_RBX];
				} else if (IS_IN[PROTO[REFERENCE[this->frame - 8]], uregs[R_RBX]])
					this->at = uregs[R_RBX];
			}
		} else if (arg0 < calls || arg0 > calls_end) {
			this->thread = this->own;
			this->rest = 1; /* unless something is found */
			this->base = WORD[this->own + 32];
			this->frame = uregs[R_RDX] - 8;
			this->at = uregs[R_RBX];
			this->state = uregs[R_R14];
			this->below = 0ull;
			if (!IS_POINTER[this->frame] || this->frame <= this->bottom || this->frame >= WORD[this->own + 48]) {
				/* a function of C has just returned */
				this->frame = this->base - 8;
				this->at = WORD[this->sp + 24];
			} else if (HALF[this->state + to_running] == 0xfffffffe && (this->at > this->bottom && this->at < this->frame ||
			    -this->at > this->bottom && -this->at < this->frame)) {
				/* a function of Lua returns to C, and rbx is the base of what has called; one instruction before, its negative */
				this->below = (this->at >> 63 ? -this->at : this->at) - 8;
				/* earlier, the distance to it */
			} else if ((this->at ^ WORD[this->frame]) < 8 && (this->at & ~7ull) && this->at < this->frame - this->bottom) {
				this->below = (WORD[this->frame] & 3) == 1 ? this->frame - (this->at & ~7ull) : 1;
			} else if (this->at >= 1ull << 47 || this->at & 3 || !IS_IN[PROTO[REFERENCE[this->frame - 8]], this->at]) {
				this->look = this->at > 65535 && this->at < 1ull << 47 && !(this->at & 3);
				this->up = this->look ? BELOW[this->frame, this->at] : 0;
				this->function = REFERENCE[this->frame - 8];
				this->trace = this->at & 7 ? this->at - 84 : this->at - 80;
				/* a function just calls another one, or that has just returned to it: only the first is shown */
				if (this->up > this->bottom && IS_IN[PROTO[REFERENCE[this->up - 8]], this->at])
					this->frame = this->up;
				/* the instruction, which a trace has replaced, is executed from the copy that the trace has of it */
				else if (this->look && BYTE[this->trace + 9] == 9 && IS_IN[PROTO[this->function], WORD[this->trace + 72]])
					this->at = WORD[this->trace + 72] + 4;
				else if (!IS_FUNCTION[this->function] || BYTE[this->function + 10] == 0)
					this->frame = 1;
			}
			if (this->below) {
				this->rest = this->below > this->bottom ? this->below : this->below & 1;
				this->frame = 0;
			}
		} else {
			this->frame = 0; /* C just calls a function of Lua */
		}
		if (this->frame) {
			this->thread = this->own;
			this->rest = this->frame <= this->bottom ? this->frame & 1 : this->frame;
		}
	}
	while (this->own && this->frame > this->bottom; 65536) {
		this->function = REFERENCE[this->frame - 8];
		this->proto = PROTO[this->function];
		/* a function with a variable number of arguments has two frames: the outer one leads to what called it */
		this->up = this->frame;
		this->link = WORD[this->up];
		if ((this->link & 7) == 3) {
			this->up -= this->link & ~7ull;
			this->link = WORD[this->up];
		}
		this->from = 0ull;
		this->from_at = 0ull;
		this->is_last = (uint64_t)0;
		if ((this->link & 3) == 0) {
			this->below = IS_POINTER[this->link & ~4ull] ? BELOW[this->up, this->link] : 1;
			this->from_at = this->link;
			this->from = this->below > this->bottom ? PROTO[REFERENCE[this->below - 8]] : 0;
			if (!IS_IN[this->from, this->from_at])
				this->below = 1;
		} else {
			this->below = this->up - (this->link & ~7ull);
			this->is_last = (this->link & 3) == 1;
			if ((this->link & 7) == 2) {
				/* what called a metamethod, or a function of C that called back */
				this->is_last = WORD[this->up - 24] == 1;
				this->from = this->below > this->bottom ? PROTO[REFERENCE[this->below - 8]] : 0;
				this->from_at = WORD[this->up - 16];
				if (!IS_IN[this->from, this->from_at])
					this->from = 0;
			}
		}
		if (this->below >= this->up)
			this->below = 1;
		if (!IS_IN[this->proto, this->at])
			this->at = 0;
		this->is_shown = this->below != 1 && IS_FUNCTION[this->function];
		if (this->is_shown && !ucached((this->proto ? this->proto : this->function) ^ 1ull << 61, this->at ^ this->from << 20,
		    this->from_at ^ (this->proto ? WORD[this->proto + 64] << 20 : 0))) {
			this->name = "";
			this->look = 0;
			if (this->from) {
				this->code = this->from + 104;
				this->pc = (int)((this->from_at - this->code) / 4) - 1;
				this->insn = HALF[this->code + 4 * this->pc];
				this->op = (uint64_t)(this->insn & 255);
				this->reg = (int)(this->insn >> 8 & 255) - 3 * (this->op == 69);
				this->look = this->op >= 65 && this->op <= 70;
				this->name = this->look ? "" : EVENT[this->op];
			}
			/* a name of what is in the register that is called */
			while (this->look; 8) {
				/* local variables: a name, or a byte below 7, and the differences from where the one before began, and to its end */
				this->vars = WORD[this->from + 96];
				this->left = this->reg + 1;
				this->var = 0ull;
				this->begin = 0;
				while (this->vars && BYTE[this->vars]; 256) {
					this->text = this->vars;
					this->vars += BYTE[this->vars] < 7 ? 1 : (uint64_t)strlen(copyinstr(this->vars)) + 1;
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
				/* the last instruction that sets the register; calls set all from theirs on */
				this->set = -1;
				this->index = this->var ? 0 : this->pc;
				this->op = 0;
				while (this->index > 1 && this->set < 0; 1024) {
					this->index--;
					this->insn = HALF[this->code + 4 * this->index];
					this->op = (uint64_t)(this->insn & 255);
					this->a = (int)(this->insn >> 8 & 255);
					if (SETS[this->op] && this->a == this->reg || SETS_ALL[this->op] && this->a <= this->reg &&
					    (this->op != 44 || this->reg <= (int)(this->insn >> 16)))
						this->set = this->index;
				}
				this->look = 0;
				if (this->var) {
					this->n = (int)BYTE[this->var];
					this->name = this->n >= 7 ? copyinstr(this->var) : this->n == 1 ? "(for index)" :
					    this->n == 2 ? "(for limit)" : this->n == 3 ? "(for step)" :
					    this->n == 4 ? "(for generator)" : this->n == 5 ? "(for state)" : "(for control)";
				} else if (this->set < 0)
					this->name = "";
				else if (this->op == 18) {
					this->look = 1;
					this->reg = (int)(this->insn >> 16);
				} else if (this->op == 54 || this->op == 57) {
					this->n = (int)(this->op == 54 ? this->insn >> 16 : this->insn >> 16 & 255);
					this->name = TEXT[WORD[WORD[this->from + 32] - 8 * (uint64_t)(this->n + 1)]];
				} else if (this->op == 45) {
					this->vars = WORD[this->from + 88];
					this->left = (int)(this->insn >> 16);
					while (this->vars && this->left > 0; 60) {
						this->vars += (uint64_t)strlen(copyinstr(this->vars)) + 1;
						this->left--;
					}
					this->name = this->vars ? copyinstr(this->vars) : "";
				}
				this->pc = this->set;
			}
			if (!this->proto)
				uframe("@[C] (", strlen(this->name) ? this->name : "?", ")");
			if (this->proto) {
				this->var = WORD[this->proto + 64];
				this->file = TEXT[this->var];
				this->op = (uint64_t)BYTE[this->var + 24];
				this->first = *(int *)(this->proto + 72);
				this->n = *(int *)(this->proto + 76);
				if (this->op == '@' || this->op == '=')
					this->file = substr(this->file, 1);
				else if (this->first == -1)
					this->file = strjoin("[builtin:", strjoin(this->file, "]"));
				else {
					this->set = index(this->file, "\n");
					this->left = this->set >= 0 || strlen(this->file) > 48;
					this->file = substr(this->file, 0, this->set >= 0 && this->set < 45 ? this->set : this->left ? 45 : 48);
					this->file = strjoin("[string \"", strjoin(this->file, this->left ? "...\"]" : "\"]"));
				}
				if (!strlen(this->name))
					this->name = !this->first && this->n ? "main chunk" :
					    strjoin("function <", strjoin(this->file, strjoin(":", strjoin(lltostr(this->first), ">"))));
				this->vars = this->at ? WORD[this->proto + 80] : 0;
				this->pc = (int)((this->at - this->proto - 104) / 4) - 1;
				this->line = this->first;
				if (this->vars && this->pc > 0)
					this->line += this->n < 256 ? (int)BYTE[this->vars + this->pc - 1] :
					    this->n < 65536 ? (int)*(uint16_t *)(this->vars + 2 * (this->pc - 1)) :
					    *(int *)(this->vars + 4 * (this->pc - 1));
				if (this->vars)
					uframe("@", this->file, ":", this->line, " (", this->name, ")");
				else
					uframe("@", this->file, " (", this->name, ")");
			}
		}
		this->at = this->from_at;
		/* what is not understood is not shown, nor what is below it */
		this->rest = this->below == 1 ? 1 : this->is_last && this->below > this->bottom ? this->below : 0;
		this->frame = this->is_last || this->below == 1 ? 0 : this->below;
	}
}
