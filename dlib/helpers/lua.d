/* SPDX-License-Identifier: MIT */
/*
 * Lua 5.2, 5.3 and 5.4: frames of Lua functions, as "file.lua:49 (name)", and of functions in C, as "[C] (name)".
 * Functions have no names of their own: as in Lua's tracebacks, the name is that under which the
 * calling instruction has got the function ("print", "insert", "method"); without one it is
 * "function <file.lua:12>", with the line where the function begins, or "main chunk".
 *
 * A call of one Lua function by another does not recurse in C, so one native frame of
 * luaV_execute() stands for several of them: those up to and including the first one that is marked
 * as called from C. luaV_execute() keeps its innermost call in a register that the functions it calls
 * preserve, so no state has to be found, and coroutines follow one another as their native frames do.
 * The compiler has chosen the register: rbp, r13 or r14 in the builds of Debian and Ubuntu.
 *
 * What differs between the versions is set when a process is met: offsets, the bits of a call's status,
 * the numbers and fields of instructions. In 5.4, the position of the next instruction is in a register,
 * and names of metamethods have no "__"; in 5.2 and 5.3, each instruction notes its position in the call
 * before it is executed, and lines are in a table of their own.
 *
 * Offsets: lstate.h, lobject.h; instructions: lopcodes.h; names: ldebug.c of Lua.
 */
#pragma D helper exec "lua|lua5*|liblua5*.so*|liblua.so*"
#pragma D helper symbol "lua_callk"
#pragma D helper registers "in_other"

uint64_t todo[int];    /* in attach clauses: functions */
int known[uint64_t];
uint64_t run, run_end; /* luaV_execute(), from where on the call is in a register, */
uint64_t begun;	       /* and from where on it is in the one that it stays in */
uint64_t positioned;   /* 5.4: the end of what loads the position of that call */
int call_in, entry_in; /* numbers of the registers of the call, and of the call that is about to begin */
int at_in;	       /* that of the position of its next instruction; -1: none */
int in_other;	       /* the call is in another register than rbp, which walks restore anyway */

/* what depends on the version */
uint64_t minor;
uint64_t p_code, p_ncode, p_source; /* offsets in a function's prototype: its instructions, their number, the name of the file */
uint64_t c_at, c_status; /* offsets in a call: its position, its status */
uint64_t flip; /* bits of the status that say the opposite in this version */
uint64_t is_lua, is_fresh; /* bits of the status: a function of Lua; called from C (all of these bits) */
uint64_t layout, bits; /* bytes and words: see below */
uint64_t ops, more_ops; /* bytes: numbers of instructions */
uint64_t op_mask, a_shift; /* where an instruction has its code, and its first operand */
uint64_t sets; /* bit n: instruction n sets the register that it names */

this uint64_t rest; /* the call that the next native frame of the interpreter begins with; 0: of another state */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
inline uint8_t BYTE[uint64_t a] = *(uint8_t *)a;
/* a register that functions preserve, by the number that instructions have for it */
inline uint64_t KEPT[int n] = n == 5 ? arg1 : n == 13 ? uregs[R_R13] : n == 14 ? uregs[R_R14] :
    n == 15 ? uregs[R_R15] : n == 12 ? uregs[R_R12] : uregs[R_RBX];
inline int IS_KEPT[int n] = n == 3 || n == 5 || n >= 12;
/* in attach clauses: the registers of an instruction with REX prefix: of its memory operand, and the other one */
inline int BASE[uint64_t a] = (BYTE[a] & 1) << 3 | BYTE[a + 2] & 7;
inline int OTHER[uint64_t a] = (BYTE[a] & 4) << 1 | BYTE[a + 2] >> 3 & 7;
/* rarely needed offsets: in a prototype; in a state */
inline uint64_t P_CONSTANTS = layout & 255;
inline uint64_t P_VARS = layout >> 8 & 255;
inline uint64_t P_NVARS = layout >> 16 & 255;
inline uint64_t P_UPVALUES = layout >> 24 & 255;
inline uint64_t P_LINES = layout >> 32 & 255;
inline uint64_t P_FIRST = layout >> 40 & 255;
inline uint64_t S_BASE = layout >> 48 & 255; /* the outermost call */
inline uint64_t S_STACK = layout >> 56;
/* bits of the status: a call of a finalizer, or the call that has called one; what a hook has called; a tail call */
inline uint64_t IS_FINALIZER = bits & 0xffff;
inline uint64_t HAS_FINALIZER = bits >> 16 & 0xffff;
inline uint64_t IS_HOOKED = bits >> 32 & 0xffff;
inline uint64_t IS_TAIL = bits >> 48 & 255;
inline uint64_t PROTO_TAG = bits >> 56;
inline uint64_t STATUS[uint64_t call] = *(uint16_t *)(call + c_status) ^ flip;
/* instructions by their numbers; those for arithmetic are between SELF and UNM */
inline uint64_t LOADK = ops & 255;
inline uint64_t LOADNIL = ops >> 8 & 255;
inline uint64_t GETUPVAL = ops >> 16 & 255;
inline uint64_t GETTABUP = ops >> 24 & 255; /* the first of those that get a member */
inline uint64_t SETTABUP = ops >> 32 & 255; /* the first of those that set one, and the last */
inline uint64_t SETLAST = ops >> 40 & 255;
inline uint64_t SELF = ops >> 48 & 255;
inline uint64_t UNM = ops >> 56;
inline uint64_t LEN = more_ops & 255;
inline uint64_t EQ = more_ops >> 8 & 255;
inline uint64_t JMP = more_ops >> 16 & 255;
inline uint64_t CALL = more_ops >> 24 & 255; /* TAILCALL is the next one */
inline uint64_t TFORCALL = more_ops >> 32 & 255;
inline uint64_t IS_GET[uint64_t op] = op >= GETTABUP && op < SETTABUP || op == SELF;
/* instructions: the code, the operands, whether the code sets the register that it names */
inline uint64_t OP[uint64_t i] = i & op_mask;
inline uint64_t SETS[uint64_t op] = op < 64 ? sets >> op & 1 : 0x3a638 >> op - 64 & 1; /* 5.4 only has so many */
inline int A[uint64_t i] = (int)(i >> a_shift & 255);
inline int B[uint64_t i] = (int)(minor == 4 ? i >> 16 & 255 : i >> 23);
inline int C[uint64_t i] = (int)(minor == 4 ? i >> 24 : i >> 14 & 511);
inline int BX[uint64_t i] = (int)(i >> (minor == 4 ? 15 : 14));
inline int JUMP[uint64_t i] = (int)(minor == 4 ? (i >> 7) - 16777215 : (i >> 14) - 131071);
inline int IS_POINTER[uint64_t a] = a >= 65536 && !(a & 7) && a < 1ull << 47;
/* the text of a string object, and of the n-th constant of a function */
inline string TEXT[uint64_t s] = ustr(s + 24, BYTE[s + 8] == 0x14 || minor == 2 ? WORD[s + 16] : BYTE[s + 11]);
inline string CONSTANT[uint64_t p, int n] = (BYTE[WORD[p + P_CONSTANTS] + 16 * n + 8] & 15) == 4 ?
    TEXT[WORD[WORD[p + P_CONSTANTS] + 16 * n]] : "?";
/* whether a position, which is that of the next instruction, belongs to a function's code */
inline int IS_IN[uint64_t p, uint64_t at] = at > WORD[p + p_code] &&
    at <= WORD[p + p_code] + 4 * (uint64_t)HALF[p + p_ncode];
/* the prototype of the function of a call; 0: a result has replaced the function in its slot */
inline uint64_t LUA[uint64_t slot] = (BYTE[slot + 8] & 63) == 6 && BYTE[WORD[WORD[slot] + 24] + 8] == PROTO_TAG ?
    WORD[WORD[slot] + 24] : 0;
/* what an arithmetic operation looks for; before 5.4, its instruction says so, in 5.2 in another order */
inline uint64_t ARITHMETIC[uint64_t op, int c] = minor == 4 ? (uint64_t)c - 6 :
    minor == 3 ? op - 13 : 0x435210 >> 4 * (op - 13) & 15;
inline string EVENT[uint64_t e] = e > 11 ? "?" :
    substr("add sub mul mod pow div idivbandbor bxorshl shr ", 4 * (int)e, e == 6 || e == 7 || e == 9 ? 4 : 3);
/* in attach clauses: the entry of the table of functions that has an address, its start and end */
inline uint64_t UNWIND[uint64_t h, uint64_t a] =
    h + *(int *)(h + 16 + 8 * ubsearch(h + 12, HALF[h + 8], 8, 4, (uint32_t)(a - h)));
inline uint64_t START[uint64_t e] = e + 8 + *(int *)(e + 8);

dtrace:helper:attach:
{
	this->ident = symaddr("lua_ident");
	if (!this->ident)
		udecline("this Lua has no symbols");
	this->is_old = 0;
	/* "Lua 5.4.", "Lua 5.3.", "Lua 5.2." */
	minor = ubytes(this->ident, 32, "4c 75 61 20 35 2e 34 2e") ? 4 : ubytes(this->ident, 32, "4c 75 61 20 35 2e 33 2e") ? 3 :
	    ubytes(this->ident, 32, "4c 75 61 20 35 2e 32 2e") ? 2 : 0;
	if (minor == 4) {
		this->ident = ubytes(this->ident, 32, "4c 75 61 20 35 2e 34 2e");
		this->is_old = BYTE[this->ident + 8] < '3'; /* before 5.4.3 */
		p_code = 64, p_ncode = 24, p_source = 112;
		c_at = 32, c_status = 62, flip = 2, is_lua = 2, is_fresh = 4;
		layout = 56 | 104 << 8 | 36 << 16 | 80ull << 24 | 88ull << 32 | 44ull << 40 | (this->is_old ? 88ull : 96ull) << 48 |
		    48ull << 56;
		bits = (this->is_old ? 0x80 : 0x80ull << 16) | 8ull << 32 | 0x20ull << 48 | 10ull << 56;
		ops = 3 | 8 << 8 | 9 << 16 | 11ull << 24 | 15ull << 32 | 18ull << 40 | 20ull << 48 | 49ull << 56;
		more_ops = 52 | 57 << 8 | 56 << 16 | 68ull << 24 | 76ull << 32;
		op_mask = 127, a_shift = 7, sets = 0x3e3ffffff87bff;
	} else if (minor == 3) {
		p_code = 56, p_ncode = 24, p_source = 104;
		c_at = 40, c_status = 66, flip = 0, is_lua = 2, is_fresh = 8;
		layout = 48 | 80 << 8 | 36 << 16 | 88ull << 24 | 72ull << 32 | 40ull << 40 | 96ull << 48 | 56ull << 56;
		bits = 0x100 | 4ull << 32 | 0x20ull << 48 | 9ull << 56;
		ops = 1 | 4 << 8 | 5 << 16 | 6ull << 24 | 8ull << 32 | 10ull << 40 | 12ull << 48 | 25ull << 56;
		more_ops = 28 | 31 << 8 | 30 << 16 | 36ull << 24 | 41ull << 32;
		op_mask = 63, a_shift = 6, sets = 0x35b83ffff8ff;
	} else {
		/* a call that another call has made in the same luaV_execute() is marked, not one from C */
		p_code = 24, p_ncode = 88, p_source = 72;
		c_at = 56, c_status = 34, flip = 4, is_lua = 1, is_fresh = 5;
		layout = 16 | 48 << 8 | 100 << 16 | 56ull << 24 | 40ull << 32 | 104ull << 40 | 128ull << 48 | 56ull << 56;
		bits = 0x40ull << 48 | 9ull << 56;
		ops = 1 | 4 << 8 | 5 << 16 | 6ull << 24 | 8ull << 32 | 10ull << 40 | 12ull << 48 | 19ull << 56;
		more_ops = 21 | 24 << 8 | 23 << 16 | 29ull << 24 | 34ull << 32;
		op_mask = 63, a_shift = 6, sets = 0x6b707ff8ff;
	}
	if (!minor)
		udecline("this version of Lua is not known (5.2 to 5.4 are)");

	/* the interpreter is the only large function that lua_callk() calls, itself or in what it calls */
	this->hdr = secaddr(".eh_frame_hdr");
	if (!this->hdr || !symaddr("lua_callk") || HALF[this->hdr] != 0x3b031b01)
		udecline("what finds the interpreter's function is missing");
	todo[0] = symaddr("lua_callk");
	this->seen = 0;
	this->left = 1;
	run = 0;
	while (this->seen < this->left && !run; 48) {
		this->end = UNWIND[this->hdr, todo[this->seen]];
		this->end = START[this->end] + HALF[this->end + 12];
		this->look = 0;
		this->from = todo[this->seen];
		while (this->look < 2 && !run; 512) {
			this->from = ubytes(this->from, this->end - this->from, this->look ? "e9" : "e8");
			if (!this->from) {
				this->look++;
				this->from = todo[this->seen];
			} else {
				this->target = this->from + 5 + *(int *)(this->from + 1);
				this->from++;
				this->entry = UNWIND[this->hdr, this->target];
				if (START[this->entry] == this->target && HALF[this->entry + 12] > (minor == 2 ? 5000 : 8000)) {
					run = this->target;
					run_end = run + HALF[this->entry + 12];
				} else if (START[this->entry] == this->target && !known[this->target] && this->left < 48) {
					known[this->target] = 1;
					todo[this->left] = this->target;
					this->left++;
				}
			}
		}
		this->seen++;
	}
	/*
	 * 5.4: "mov 0x20(%rbp),%rbx" loads the position of the call in rbp, "lea 0x4(%rbx),%r13" makes the next one of it;
	 * 5.3: "mov 0x20(%rbp),%r9" loads the base of the call in rbp; 5.2: "mov 0x30(%r13),%r14"
	 */
	this->load = 0ull;
	this->start = run;
	this->from = run;
	while (run && !this->load && this->from < run + 200; 200) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x8b && BYTE[this->from + 2] >> 6 == 1 &&
		    BYTE[this->from + 3] == (minor == 2 ? 0x30 : 0x20) && IS_KEPT[BASE[this->from]] &&
		    (minor < 4 || IS_KEPT[OTHER[this->from]]))
			this->load = this->from;
		this->from++;
	}
	positioned = 0;
	while (minor == 4 && this->load && !positioned && this->from < this->load + 128; 128) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x8d && BYTE[this->from + 2] >> 6 == 1 &&
		    BYTE[this->from + 3] == 4 && BASE[this->from] == OTHER[this->load] && IS_KEPT[OTHER[this->from]])
			positioned = this->from;
		this->from++;
	}
	if (!this->load || minor == 4 && !positioned)
		udecline("this Lua was compiled in a way that is not known");
	call_in = BASE[this->load];
	entry_in = call_in;
	run = this->load;
	begun = this->load;
	/* 5.4: "mov %rsi,%r13" at the function's beginning, "mov %r13,%rbp" where calls begin; or "mov %rsi,%rbp" at once */
	this->entered = 0ull;
	this->from = this->start;
	while (minor == 4 && this->from < this->load; 200) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x89 && BYTE[this->from + 2] >> 6 == 3) {
			if (!this->entered && OTHER[this->from] == 6 && IS_KEPT[BASE[this->from]]) {
				this->entered = this->from + 3;
				entry_in = BASE[this->from];
			}
			if (this->entered && BASE[this->from] == call_in && (OTHER[this->from] == entry_in || entry_in == call_in)) {
				run = this->entered;
				begun = this->from + 3;
			}
		}
		this->from++;
	}
	in_other = call_in != 5;
	at_in = positioned ? OTHER[positioned] : -1;
}

dtrace:helper:ustack:
/arg0 >= run && (arg0 < run_end || arg0 == run_end && arg3)/
{
	this->call = this->rest;
	this->is_known = (uint64_t)0;
	this->is_reached = (uint64_t)0;
	this->is_first = (uint64_t)0;
	/* where a call begins, in its native frame or in that of its caller */
	this->own = (uint64_t)(arg0 < begun ? KEPT[entry_in] : KEPT[call_in]);
	this->mine = this->own;
	/* at the end of the interpreter's function, the register is the caller's */
	this->is_last = (uint64_t)(arg3 == 0 && (BYTE[arg0] == 0xc3 || BYTE[arg0] == 0x5b || BYTE[arg0] == 0x5d ||
	    (HALF[arg0] & 0xfcff) == 0x5c41));
	/* in places, as while the variables of a new closure are set, it is something else: a call is in a list */
	this->outer = IS_POINTER[this->own] ? WORD[this->own + 16] : 0;
	this->is_last |= !IS_POINTER[this->outer] || WORD[this->outer + 24] != this->own;
	while (!this->is_last; 65536) {
		if (!this->call && !this->is_known) {
			/* the first native frame of a state; functions in C can be called at the moment */
			this->is_known = 1;
			this->is_first = 1;
			this->outer = this->own;
			while (WORD[this->outer + 16]; 65536)
				this->outer = WORD[this->outer + 16];
			this->state = this->outer - S_BASE;
			if (BYTE[this->state + 8] == 8 && WORD[this->state + S_STACK] == WORD[this->outer])
				this->call = WORD[this->state + 32];
			/* a call that has just ended is still in the register */
			this->outer = this->call;
			while (this->outer && this->outer != this->own; 65536)
				this->outer = WORD[this->outer + 16];
			if (!this->outer && (STATUS[this->own] & is_fresh) == is_fresh) {
				this->rest = this->call;
				this->is_last = 1;
			} else if (!this->outer)
				this->mine = WORD[this->own + 16];
		}
		if (!this->is_last) {
			this->self = this->call;
			this->status = this->call ? STATUS[this->call] : 0;
			this->outer = this->call ? WORD[this->call + 16] : 0;
			this->is_reached |= this->call == this->mine;
			this->is_last = this->is_known && !this->outer || this->is_reached && (this->status & is_fresh) == is_fresh;
			this->call = this->outer && WORD[this->outer + 16] ? this->outer : 0;
			this->rest = this->call;

			this->proto = 0ull;
			this->at = 0ull;
			this->is_shown = this->outer != 0;
			if (this->outer && this->status & is_lua) {
				this->proto = LUA[WORD[this->self]];
				this->code = this->proto ? WORD[this->proto + p_code] : 0;
				this->at = WORD[this->self + c_at];
				this->is_shown = this->proto != 0;
				/* the interrupted one has the position of the next instruction in a register */
				if (positioned && this->proto && arg3 == 0 && this->self == this->own &&
				    arg0 > positioned && IS_IN[this->proto, KEPT[at_in]])
					this->at = KEPT[at_in];
				/*
				 * A call that is just being made has no position yet, but what an earlier
				 * one has left there; a tail call has that of its caller. Both are at their
				 * beginning. Otherwise, what is in the slot is a result: the call has ended.
				 */
				if (this->proto && this->is_first && this->self != this->mine &&
				    (this->outer == this->mine || !IS_IN[this->proto, this->at])) {
					this->at = this->code;
				} else if (this->proto && this->at != this->code && !IS_IN[this->proto, this->at]) {
					this->is_shown = this->is_first && OP[HALF[this->at - 4]] == CALL + 1;
					this->status |= IS_TAIL;
					this->at = this->code;
				}
			}
			this->is_first = 0;
			/* what called it: a function of Lua that is still there, a hook, a finalizer */
			this->from = 0ull;
			this->from_at = 0ull;
			this->kind = this->status & IS_FINALIZER ? 3 : this->status & IS_TAIL ? 1 : 0;
			if (this->outer && !this->kind) {
				this->status = STATUS[this->outer];
				this->kind = this->status & IS_HOOKED && (HAS_FINALIZER || this->status & is_lua) ? 2 :
				    this->status & HAS_FINALIZER ? 3 : this->status & is_lua ? 0 : 1;
				if (!this->kind) {
					this->from = LUA[WORD[this->outer]];
					this->from_at = WORD[this->outer + c_at];
					/* a call in this place has no name */
					if (this->from && !IS_IN[this->from, this->from_at])
						this->from = 0;
				}
			}
			if (this->is_shown && !ucached(this->proto ^ (uint64_t)this->kind << 56 ^ 1ull << 60, this->at ^ this->from << 20,
			    this->from_at ^ (this->proto ? WORD[this->proto + p_source] << 20 : 0))) {
				this->name = this->kind == 2 ? "?" : this->kind == 3 ? "__gc" : "";
				this->look = 0;
				if (this->from) {
					this->pc = (int)((this->from_at - WORD[this->from + p_code]) / 4) - 1;
					this->insn = HALF[WORD[this->from + p_code] + 4 * this->pc];
					this->op = OP[this->insn];
					if (this->op == CALL || this->op == CALL + 1)
						this->look = 1;
					else if (minor == 4 ? this->op >= 46 && this->op <= 48 : this->op > SELF && this->op < UNM)
						this->name = EVENT[ARITHMETIC[this->op, C[this->insn]]];
					else
						this->name = this->op == TFORCALL ? "for iterator" : IS_GET[this->op] ? "index" :
						    this->op >= SETTABUP && this->op <= SETLAST ? "newindex" :
						    this->op == UNM ? "unm" : this->op == UNM + 1 && minor > 2 ? "bnot" :
						    this->op == LEN ? "len" : this->op == LEN + 1 ? "concat" :
						    this->op == EQ ? "eq" :
						    /* 5.4: comparisons with constants, before 5.4.3 without names of their own */
						    minor == 4 && IS_FINALIZER ? this->op == EQ + 1 || this->op == EQ + 2 ||
							this->op == EQ + 5 || this->op == EQ + 6 ? "order" :
							this->op == 54 || this->op == 70 ? "close" : "" :
						    this->op == EQ + 1 || minor == 4 && (this->op == 62 || this->op == 64) ? "lt" :
						    this->op == EQ + 2 || minor == 4 && (this->op == 63 || this->op == 65) ? "le" :
						    minor == 4 && (this->op == 54 || this->op == 70) ? "close" : "";
					if (minor < 4 && strlen(this->name) && this->op != TFORCALL)
						this->name = strjoin("__", this->name);
				}
				/* a name of what is in the register that is called, or (2) of a key */
				this->reg = this->from ? A[this->insn] : 0;
				while (this->look; 8) {
					/* local variables */
					this->vars = WORD[this->from + P_VARS];
					this->end = this->vars + 16 * (uint64_t)HALF[this->from + P_NVARS];
					this->left = this->reg + 1;
					this->var = 0ull;
					while (this->vars < this->end && this->left &&
					    *(int *)(this->vars + 8) <= this->pc; 256) {
						this->left -= this->pc < *(int *)(this->vars + 12);
						this->var = this->left ? 0 : WORD[this->vars];
						this->vars += 16;
					}
					/* the last instruction that sets the register; calls set all from theirs on */
					this->set = -1;
					this->index = this->var ? 0 : this->pc;
					this->insns = WORD[this->from + p_code];
					this->op_call = CALL;
					this->op_nil = LOADNIL;
					this->op_for = TFORCALL;
					this->op_jump = JMP;
					while (this->index > 0 && this->set < 0; 1024) {
						this->index--;
						this->insn = HALF[this->insns + 4 * this->index];
						this->op = OP[this->insn];
						this->a = A[this->insn];
						if (this->reg <= this->a)
							this->change = this->reg == this->a && SETS[this->op];
						else
							this->change = this->op == this->op_call || this->op == this->op_call + 1 ||
							    this->op == this->op_nil && this->reg <= this->a + B[this->insn] ||
							    this->op == this->op_for && this->reg >= this->a + 2;
						if (this->change)
							this->set = this->index;
					}
					/* unless a jump leads past it */
					while (this->index > 0 && this->set >= 0; 128) {
						this->index--;
						this->jump = HALF[this->insns + 4 * this->index];
						if (OP[this->jump] == this->op_jump) {
							this->to = this->index + 1 + JUMP[this->jump];
							if (this->to > this->set && this->to <= this->pc)
								this->set = -1;
						}
					}
					this->a = C[this->insn];
					this->mode = this->look;
					this->look = 0;
					if (this->var)
						this->name = this->mode == 2 ? "?" : TEXT[this->var];
					else if (this->set < 0 || this->mode == 2 && this->op != 0 && this->op != LOADK)
						this->name = this->mode == 2 ? "?" : "";
					else if (this->op == 0 && B[this->insn] < A[this->insn]) {
						this->look = this->mode;
						this->reg = B[this->insn];
					} else if (IS_GET[this->op] && (minor < 4 ? this->a & 256 : this->op == SELF ? this->insn >> 15 & 1 :
					    this->op == GETTABUP || this->op == GETTABUP + 3))
						this->name = CONSTANT[this->from, this->a & 255];
					else if (minor == 4 && this->op == GETTABUP + 2)
						this->name = "integer index";
					else if (IS_GET[this->op]) {
						this->look = 2;
						this->reg = this->a;
					} else if (this->op == GETUPVAL) {
						this->var = WORD[WORD[this->from + P_UPVALUES] + 16 * (uint64_t)B[this->insn]];
						this->name = this->var ? TEXT[this->var] : "?";
					} else if (this->op == LOADK)
						this->name = CONSTANT[this->from, BX[this->insn]];
					else
						this->name = this->mode == 2 ? "?" : "";
					this->pc = this->set;
				}
				if (!this->proto)
					uframe("@[C] (", strlen(this->name) ? this->name : "?", ")");
				if (this->proto) {
					this->pc = (int)((this->at - WORD[this->proto + p_code]) / 4) - (this->at > this->code);
					this->vars = WORD[this->proto + P_LINES];
					/* 5.4: differences from a line in another table, or from the first one */
					if (minor == 4) {
						this->line = *(int *)(this->proto + P_FIRST);
						this->index = -1;
						this->to = (int)ubsearch(WORD[this->proto + 96], HALF[this->proto + 40], 8, 4,
						    this->pc);
						if (this->to >= 0) {
							this->index = *(int *)(WORD[this->proto + 96] + 8 * this->to);
							this->line = *(int *)(WORD[this->proto + 96] + 8 * this->to + 4);
						}
						while (this->vars && this->index < this->pc; 256) {
							this->index++;
							this->line += *(int8_t *)(this->vars + this->index);
						}
					} else
						this->line = this->vars ? *(int *)(this->vars + 4 * this->pc) : -1;
					this->var = WORD[this->proto + p_source];
					this->file = TEXT[this->var];
					this->op = BYTE[this->var + 24];
					if (this->op == '@' || this->op == '=')
						this->file = substr(this->file, 1);
					else {
						this->to = index(this->file, "\n");
						this->left = this->to >= 0 || strlen(this->file) >= 45;
						this->file = substr(this->file, 0, this->to >= 0 && this->to < 45 ? this->to : 45);
						this->file = strjoin("[string \"", strjoin(this->file, this->left ? "...\"]" : "\"]"));
					}
					if (strlen(this->name) || !HALF[this->proto + P_FIRST])
						uframe("@", this->file, ":", this->line, " (",
						    strlen(this->name) ? this->name : "main chunk", ")");
					else
						uframe("@", this->file, ":", this->line, " (function <", this->file, ":",
						    *(int *)(this->proto + P_FIRST), ">)");
				}
			}
		}
	}
}
