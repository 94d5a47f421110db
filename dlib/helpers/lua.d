/* SPDX-License-Identifier: MIT */
/*
 * Lua 5.1 to 5.4: frames of Lua functions, as "file.lua:49 (name)", and of functions in C, as
 * "[C] (name)". Functions have no names of their own: as in Lua's tracebacks, the name is that
 * under which the calling instruction has got the function ("print", "insert", "method"); without
 * one it is "function <file.lua:12>", with the line where the function begins, or "main chunk".
 *
 * A call of one Lua function by another does not recurse in C, so one native frame of
 * luaV_execute() stands for several of them: those up to and including the first one that is marked
 * as called from C. luaV_execute() keeps its innermost call in a register that the functions it
 * calls preserve, so no state has to be found, and coroutines follow one another as their native
 * frames do. The compiler has chosen the register: rbp, r13 or r14 in the builds of Debian and
 * Ubuntu.
 *
 * What differs between the versions is in a table: offsets, the bits of a call's status, the
 * numbers and fields of instructions. In 5.4, the position of the next instruction is in a
 * register, and names of metamethods have no "__"; in 5.2 and 5.3, each instruction notes its
 * position in the call before it is executed, and lines are in a table of their own.
 *
 * In 5.1, that register has the state; its calls are an array that does not say where a native
 * frame begins: it is where something else than an instruction for calls has called. The position
 * of the innermost call is in the state, or also in a register.
 *
 * Offsets: lstate.h, lobject.h; instructions: lopcodes.h; names: ldebug.c of Lua.
 */
#pragma D helper exec "lua|lua5*|liblua5*.so*|liblua.so*"
#pragma D helper symbol "lua_callk|lua_setlevel"
#pragma D helper registers "in_other"

table VERSIONS { /*           5.1      5.2      5.3      5.4.0 (to 5.4.2)  5.4.3 */
	uint64_t version	=    51,      52,      53,     540,     543;
	uint64_t minor		=     1,       2,       3,       4,       4;
	/*
	 * offsets in a function's prototype: its instructions, their number, the name of the file
	 */
	uint64_t p_code		=    24,      24,      56,      64,      64;
	uint64_t p_ncode	=    80,      88,      24,      24,      24;
	uint64_t p_source	=    64,      72,     104,     112,     112;
	/* offsets in a call: its position, its status (5.1: none) */
	uint64_t c_at		=    24,      56,      40,      32,      32;
	uint64_t c_status	=     0,      34,      66,      62,      62;
	/*
	 * Bits of the status: those that say the opposite in this version; a function of Lua;
	 * called from C (all of these bits). In 5.2, a call that another call has made in the same
	 * luaV_execute() is marked, not one from C. In 5.1, this helper makes the status.
	 */
	uint64_t status_inverted =     0,       4,       0,       2,       2;
	uint64_t is_lua		=     1,       1,       2,       2,       2;
	uint64_t is_fresh	=     0,       5,       8,       4,       4;
	/* where an instruction has its code, and its first operand */
	uint64_t op_mask	=    63,      63,      63,     127,     127;
	uint64_t a_shift	=     6,       6,       6,       7,       7;
	/* bit n: instruction n sets the register that it names */
	uint64_t sets		= 0x31bc3ffc7f, 0x6b707ff8ff, 0x35b83ffff8ff, 0x3e3ffffff87bff,
	    0x3e3ffffff87bff;
	/* rarely needed offsets in a prototype */
	uint8_t P_CONSTANTS	=    16,      16,      48,      56,      56;
	uint8_t P_VARS		=    48,      48,      80,     104,     104;
	uint8_t P_NVARS		=    92,     100,      36,      36,      36;
	uint8_t P_UPVALUES	=    56,      56,      88,      80,      80;
	uint8_t P_LINES		=    40,      40,      72,      88,      88;
	uint8_t P_FIRST		=    96,     104,      40,      44,      44;
	/* in a state: the outermost call (5.1: a pointer to it), the stack */
	uint8_t S_BASE		=    80,     128,      96,      88,      96;
	uint8_t S_STACK		=    64,      56,      56,      48,      48;
	/*
	 * bits of the status: a call of a finalizer, or the call that has called one; what a hook
	 * has called; a tail call
	 */
	uint16_t IS_FINALIZER	=     0,       0,   0x100,    0x80,       0;
	uint16_t HAS_FINALIZER	=     0,       0,       0,       0,    0x80;
	uint16_t IS_HOOKED	=     0,       0,       4,       8,       8;
	uint8_t IS_TAIL		=  0x40,    0x40,    0x20,    0x20,    0x20;
	uint8_t PROTO_TAG	=     9,       9,       9,      10,      10;
	/* instructions by their numbers; those for arithmetic are between SELF and UNM */
	uint8_t LOADK		=     1,       1,       1,       3,       3;
	uint8_t LOADNIL		=     3,       4,       4,       8,       8;
	uint8_t GETUPVAL	=     4,       5,       5,       9,       9;
	/* the first of those that get a member */
	uint8_t GETTABUP	=     5,       6,       6,      11,      11;
	/* the first of those that set one */
	uint8_t SETTABUP	=     7,       8,       8,      15,      15;
	/* the last of those */
	uint8_t SETLAST		=     9,      10,      10,      18,      18;
	uint8_t SELF		=    11,      12,      12,      20,      20;
	uint8_t UNM		=    18,      19,      25,      49,      49;
	uint8_t LEN		=    20,      21,      28,      52,      52;
	uint8_t EQ		=    23,      24,      31,      57,      57;
	uint8_t JMP		=    22,      23,      30,      56,      56;
	/* TAILCALL is the next one */
	uint8_t CALL		=    28,      29,      36,      68,      68;
	uint8_t TFORCALL	=    33,      34,      41,      76,      76;
};

/*
 * The code of luaV_execute(), in three parts. First it has no call in a register that it keeps.
 * From `entered` on, the call that is about to begin is in register entry_in; from `begun` to
 * `code_end`, the one that runs is in call_in. Before 5.4 both are the same place, and register.
 */
uint64_t entered, begun, code_end;
int entry_in, call_in; /* numbers of registers, as instructions have them */
uint64_t positioned;   /* 5.1, 5.4: the end of what loads the position of that call */
/* the register that has the position of its next instruction from there on; -1: none */
int at_in;
int in_other;	       /* one of these is another register than rbp, which walks restore anyway */
uint64_t ended;	       /* 5.1: behind the call of what ends a call, luaD_poscall(); or 0 */

/* the call that the next native frame of the interpreter begins with; 0: of another state */
this uint64_t rest;
this uint64_t base; /* 5.1: the outermost call of the state that this one belongs to */

/* registers that functions preserve, by the numbers that instructions have for them */
inline uint64_t PRIME = 0x9e3779b97f4a7c15; /* it mixes what a text depends on */
inline int RBX = 3;
inline int RBP = 5;
inline int R12 = 12;
inline int R13 = 13;
inline int R14 = 14;
inline int R15 = 15;
inline int RDI = 7; /* it has the first parameter, and is not preserved */
inline uint64_t KEPT[int n] = n == RBP ? arg1 : n == R13 ? uregs[R_R13] : n == R14 ? uregs[R_R14] :
    n == R15 ? uregs[R_R15] : n == R12 ? uregs[R_R12] : n == RBX ? uregs[R_RBX] : uregs[R_RDI];
inline int IS_KEPT[int n] = n == RBX || n == RBP || n >= R12;
/*
 * in attach clauses: the registers of an instruction with REX prefix: of its memory operand, and
 * the other one
 */
inline int BASE[uint64_t a] = (BYTE[a] & 1) << 3 | BYTE[a + 2] & 7;
inline int OTHER[uint64_t a] = (BYTE[a] & 4) << 1 | BYTE[a + 2] >> 3 & 7;
inline uint64_t STATUS[uint64_t call] = SHORT[call + c_status] ^ status_inverted;
inline int C_PREVIOUS = 16; /* in a call: the one that has called, and the one that was called */
inline int C_NEXT = 24;
/*
 * in a call of 5.1: its first variable, the slot of its function, the number of tail calls that led
 * to it; its size
 */
inline int OLD_BASE = 0;
inline int OLD_FUNC = 8;
inline int OLD_TAILS = 36;
inline int OLD_SIZE = 40;
/* in a state of 5.1: the first variable of the innermost call, that call, its position */
inline int OLD_CURRENT = 24;
inline int OLD_CALL = 40;
inline int OLD_AT = 48;
inline int S_KIND = 8; /* in a state, which is an object: its kind; the innermost call */
inline int S_CALL = 32;
inline int KIND_THREAD = 8;
inline int VALUE_SIZE = 16;
inline int VALUE_TAG = 8;
inline int LONG_TEXT = 20; /* the kind of a string that may have no hash */
inline int MOVE = 0; /* in all versions */
/* in 5.1 only: the end of a call, the beginning of a loop over numbers, what makes a function */
inline int OLD_RETURN = 30;
inline int FORPREP = 32;
inline int CLOSURE = 36;
/* in a prototype of 5.1: those of the functions in it, the number of variables from outside */
inline int OLD_PROTOS = 32;
inline int OLD_NUPVALUES = 112;
/*
 * instructions that only 5.4 has: for events of arithmetic, comparisons with constants, the end of
 * a block
 */
inline int MMBIN = 46;
inline int MMBINK = 48;
inline int CLOSE = 54;
inline int LTI = 62;
inline int LEI = 63;
inline int GTI = 64;
inline int GEI = 65;
inline int RETURN = 70;
/* kinds of a frame, by what has called it */
inline int BY_LUA = 0;	     /* a function of Lua that is still there: it has the name */
inline int BY_OTHER = 1;     /* C, or a function that a tail call has replaced */
inline int BY_HOOK = 2;
inline int BY_COLLECTOR = 3; /* it is a finalizer */
inline uint64_t IS_GET[uint64_t op] = op >= GETTABUP && op < SETTABUP || op == SELF;
/* instructions: the code, the operands, whether the code sets the register that it names */
inline uint64_t OP[uint64_t i] = i & op_mask;
/* 5.4 only has so many */
inline uint64_t SETS[uint64_t op] = op < 64 ? sets >> op & 1 : 0x3a638 >> op - 64 & 1;
inline int A[uint64_t i] = (int)(i >> a_shift & 255);
inline int B[uint64_t i] = (int)(minor == 4 ? i >> 16 & 255 : i >> 23);
inline int C[uint64_t i] = (int)(minor == 4 ? i >> 24 : i >> 14 & 511);
inline int BX[uint64_t i] = (int)(i >> (minor == 4 ? 15 : 14));
inline int JUMP[uint64_t i] = (int)(minor == 4 ? (i >> 7) - 16777215 : (i >> 14) - 131071);
/* the text of a string object, and of the n-th constant of a function */
inline string TEXT[uint64_t s] =
    ustr(s + 24, BYTE[s + 8] == 0x14 || minor <= 2 ? WORD[s + 16] : BYTE[s + 11]);
inline string CONSTANT[uint64_t p, int n] =
    (BYTE[WORD[p + P_CONSTANTS] + VALUE_SIZE * n + VALUE_TAG] & 15) == 4 ?
    TEXT[WORD[WORD[p + P_CONSTANTS] + VALUE_SIZE * n]] : "?";
/* whether a position, which is that of the next instruction, belongs to a function's code */
inline int IS_IN[uint64_t p, uint64_t at] = at > WORD[p + p_code] &&
    at <= WORD[p + p_code] + 4 * (uint64_t)HALF[p + p_ncode];
/*
 * the prototype of the function of a call; 0: a result has replaced the function in its slot, or
 * its first half has, and the tag has not yet
 */
inline uint64_t LUA[uint64_t slot] = (BYTE[slot + VALUE_TAG] & 63) == 6 &&
    IS_POINTER[WORD[slot]] && IS_POINTER[WORD[WORD[slot] + 24]] &&
    BYTE[WORD[WORD[slot] + 24] + 8] == PROTO_TAG ?
    WORD[WORD[slot] + 24] : 0;
/* in 5.1, where functions in C have the same tag */
inline uint64_t OLD_LUA[uint64_t slot] = BYTE[slot + VALUE_TAG] == 6 &&
    IS_POINTER[WORD[slot]] && !BYTE[WORD[slot] + 10] && IS_POINTER[WORD[WORD[slot] + 32]] &&
    BYTE[WORD[WORD[slot] + 32] + 8] == PROTO_TAG ?
    WORD[WORD[slot] + 32] : 0;
inline uint64_t PROTO[uint64_t call] = minor == 1 ? OLD_LUA[WORD[call + OLD_FUNC]] :
    LUA[WORD[call]];
/*
 * whether the instruction before a position in the code of a call of 5.1 is one for calls, and has
 * called what is in a slot
 */
inline int HAS_CALLED[uint64_t call, uint64_t at, uint64_t slot] =
    (OP[HALF[at - 4]] == CALL || OP[HALF[at - 4]] == CALL + 1) &&
    slot == WORD[call + OLD_BASE] + VALUE_SIZE * (uint64_t)A[HALF[at - 4]];
/*
 * what an arithmetic operation looks for; before 5.4, its instruction says so, in 5.2 in another
 * order
 */
inline uint64_t ARITHMETIC[uint64_t op, int c] = minor == 4 ? (uint64_t)c - 6 :
    minor == 3 ? op - 13 : 0x435210 >> 4 * (op - 13) & 15;
inline string EVENT[uint64_t e] = e > 11 ? "?" :
    substr("add sub mul mod pow div idivbandbor bxorshl shr ", 4 * (int)e,
    e == 6 || e == 7 || e == 9 ? 4 : 3);

/* "Lua 5.4.", behind which the number of the release stands; "Lua 5.3.", "Lua 5.2.", "Lua 5.1." */
dtrace:helper:attach:
{
	this->ident = symaddr("lua_ident");
	if (!this->ident)
		udecline("this Lua has no symbols");
	this->release = ubytes(this->ident, 32, "4c 75 61 20 35 2e 34 2e");
	this->number = this->release ? (BYTE[this->release + 8] < '3' ? 540 : 543) :
	    ubytes(this->ident, 32, "4c 75 61 20 35 2e 33 2e") ? 53 :
	    ubytes(this->ident, 32, "4c 75 61 20 35 2e 32 2e") ? 52 :
	    ubytes(this->ident, 32, "4c 75 61 20 35 2e 31 2e") ? 51 : 0;
	if (!VERSIONS[this->number])
		udecline("this version of Lua is not known (5.1 to 5.4 are)");
}

uint64_t todo[int]; /* functions to look at, */
int known[uint64_t]; /* and whether one is among them */

/*
 * Looks at the calls ("call", then "jmp") of the function at this->calls: the interpreter, or more
 * functions to look at.
 */
inline void look_at_calls()
{
	this->end = END[ENTRY[this->hdr, this->calls]];
	this->look = 0;
	this->from = this->calls;
	while (this->look < 2 && !entered; 512) {
		this->from = ubytes(this->from, this->end - this->from, this->look ? "e9" : "e8");
		if (!this->from) {
			this->look++;
			this->from = this->calls;
		} else {
			this->target = TARGET[this->from + 1];
			this->from++;
			this->entry = ENTRY[this->hdr, this->target];
			if (START[this->entry] == this->target &&
			    HALF[this->entry + 12] > (minor <= 2 ? 5000 : 8000)) {
				entered = this->target;
				code_end = END[this->entry];
			} else if (START[this->entry] == this->target && !known[this->target] &&
			    this->left < 48) {
				known[this->target] = 1;
				todo[this->left] = this->target;
				this->left++;
			}
		}
	}
}

/*
 * The interpreter is the only large function that lua_callk() (5.1: lua_call()) calls, itself or in
 * what it calls.
 */
dtrace:helper:attach:
{
	this->hdr = secaddr(".eh_frame_hdr");
	todo[0] = symaddr("lua_callk");
	if (minor == 1)
		todo[0] = symaddr("lua_call");
	if (!todo[0] || !IS_TABLE[this->hdr])
		udecline("what finds the interpreter's function is missing");
	this->seen = 0;
	this->left = 1;
	entered = 0;
	while (this->seen < this->left && !entered; 48) {
		this->calls = todo[this->seen];
		look_at_calls();
		this->seen++;
	}
}

/*
 * 5.4: "mov 0x20(%rbp),%rbx" loads the position of the call in rbp, "lea 0x4(%rbx),%r13" makes the
 * next one of it; 5.3: "mov 0x20(%rbp),%r9" loads the base of the call in rbp; 5.2: "mov
 * 0x30(%r13),%r14"
 */
dtrace:helper:attach:
/minor > 1/
{
	this->load = 0ull;
	this->start = entered;
	this->from = entered;
	while (entered && !this->load && this->from < entered + 200; 200) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x8b &&
		    BYTE[this->from + 2] >> 6 == 1 &&
		    BYTE[this->from + 3] == (minor == 2 ? 0x30 : 0x20) &&
		    IS_KEPT[BASE[this->from]] &&
		    (minor < 4 || IS_KEPT[OTHER[this->from]]))
			this->load = this->from;
		this->from++;
	}
	positioned = 0;
	while (minor == 4 && this->load && !positioned && this->from < this->load + 128; 128) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x8d &&
		    BYTE[this->from + 2] >> 6 == 1 &&
		    BYTE[this->from + 3] == 4 && BASE[this->from] == OTHER[this->load] &&
		    IS_KEPT[OTHER[this->from]])
			positioned = this->from;
		this->from++;
	}
	if (!this->load || minor == 4 && !positioned)
		udecline("this Lua was compiled in a way that is not known");
	call_in = BASE[this->load];
	entry_in = call_in;
	entered = this->load;
	begun = this->load;
	in_other = call_in != RBP;
	at_in = positioned ? OTHER[positioned] : -1;
}

/*
 * 5.1: "mov %rdi,%rbp" keeps the state in rbp, "lea 0x4(%r14),%r13" makes the position of the next
 * instruction. "subl $0x1,0x28(%rsp)" counts the calls that have ended.
 */
dtrace:helper:attach:
/minor == 1/
{
	this->load = 0ull;
	this->from = entered;
	while (entered && !this->load && this->from < entered + 64; 64) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x89 &&
		    BYTE[this->from + 2] >> 6 == 3 && OTHER[this->from] == RDI &&
		    IS_KEPT[BASE[this->from]])
			this->load = this->from;
		this->from++;
	}
	positioned = 0;
	while (this->load && !positioned && this->from < entered + 200; 200) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x8d &&
		    BYTE[this->from + 2] >> 6 == 1 && BYTE[this->from + 3] == 4 &&
		    IS_KEPT[BASE[this->from]] && IS_KEPT[OTHER[this->from]])
			positioned = this->from;
		this->from++;
	}
	if (!this->load)
		udecline("this Lua was compiled in a way that is not known");
	call_in = BASE[this->load];
	entry_in = RDI;
	begun = this->load + 3;
	at_in = positioned ? OTHER[positioned] : -1;
	in_other = call_in != RBP || at_in >= 0;
	this->from = ubytes(entered, code_end - entered, "83 6c 24 ?? 01");
	ended = this->from && BYTE[this->from - 5] == 0xe8 ? this->from : 0;
}

/*
 * 5.4: "mov %rsi,%r13" at the function's beginning, "mov %r13,%rbp" where calls begin; or "mov
 * %rsi,%rbp" at once
 */
dtrace:helper:attach:
{
	this->arrived = 0ull;
	this->from = this->start;
	while (minor == 4 && this->from < this->load; 200) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x89 &&
		    BYTE[this->from + 2] >> 6 == 3) {
			if (!this->arrived && OTHER[this->from] == 6 && IS_KEPT[BASE[this->from]]) {
				this->arrived = this->from + 3;
				entry_in = BASE[this->from];
			}
			if (this->arrived && BASE[this->from] == call_in &&
			    (OTHER[this->from] == entry_in || entry_in == call_in)) {
				entered = this->arrived;
				begun = this->from + 3;
			}
		}
		this->from++;
	}
}

/*
 * In the first native frame of a state: its innermost call. Functions in C can be called at the
 * moment.
 */
inline void begin_state()
{
	this->is_known = 1;
	this->is_first = 1;
	this->outer = this->own;
	while (WORD[this->outer + C_PREVIOUS]; 65536)
		this->outer = WORD[this->outer + C_PREVIOUS];
	this->state = this->outer - S_BASE;
	if (BYTE[this->state + S_KIND] == KIND_THREAD &&
	    WORD[this->state + S_STACK] == WORD[this->outer])
		this->call = WORD[this->state + S_CALL];
	/* a call that has just ended is still in the register */
	this->outer = this->call;
	while (this->outer && this->outer != this->own; 65536)
		this->outer = WORD[this->outer + C_PREVIOUS];
	if (!this->outer && (STATUS[this->own] & is_fresh) == is_fresh) {
		this->rest = this->call;
		this->is_last = 1;
	} else if (!this->outer)
		this->mine = WORD[this->own + C_PREVIOUS];
}

/*
 * The same in 5.1. This native frame may have no call any more: in the interpreter's own code, no
 * function in C can be the innermost; and where a call has ended, it may have been the last one. A
 * call that is just being made still has what an earlier one has left there.
 */
inline void begin_old_state()
{
	if (WORD[this->state + OLD_CURRENT] != WORD[this->own + OLD_BASE])
		this->own -= OLD_SIZE;
	this->is_known = 1;
	this->is_first = 1;
	this->base = WORD[this->state + S_BASE];
	this->call = this->own;
	this->proto = OLD_LUA[WORD[this->own + OLD_FUNC]];
	this->at = WORD[this->state + OLD_AT];
	this->is_last = this->own < this->base || !this->proto && arg3 == 0 ||
	    arg0 == ended && ended &&
	    (!this->proto || !IS_IN[this->proto, this->at] ||
	    OP[HALF[this->at - 4]] != OLD_RETURN &&
	    !HAS_CALLED[this->own, this->at, WORD[this->own + OLD_SIZE + OLD_FUNC]]);
	/*
	 * A call that C makes has no native frame until the interpreter begins with it: this frame
	 * is of the Lua function behind it then, whose position is in the register.
	 */
	this->outer = this->own;
	this->from = 0ull;
	if (arg3 && at_in >= 0 && this->proto && !IS_IN[this->proto, KEPT[at_in]])
		while (this->outer > this->base && !this->from; 256) {
			this->outer -= OLD_SIZE;
			this->from = OLD_LUA[WORD[this->outer + OLD_FUNC]];
		}
	this->mine = this->from && IS_IN[this->from, KEPT[at_in]] ? this->outer : 0;
	this->is_reached = (uint64_t)(this->mine == 0);
}

/* Takes the next call: this->self, with its status; this->outer has called it. */
inline void take_call()
{
	this->self = this->call;
	this->status = this->call ? STATUS[this->call] : 0;
	this->outer = this->call ? WORD[this->call + C_PREVIOUS] : 0;
	this->is_reached |= this->call == this->mine;
	this->is_last = this->is_known && !this->outer ||
	    this->is_reached && (this->status & is_fresh) == is_fresh;
	this->call = this->outer && WORD[this->outer + C_PREVIOUS] ? this->outer : 0;
	this->rest = this->call;
}

/* The same in 5.1, where calls do not say whether something else than a call has called them. */
inline void take_old_call()
{
	this->self = this->call;
	this->outer = this->call > this->base ? this->call - OLD_SIZE : 0;
	this->call = this->outer > this->base ? this->outer : 0;
	this->rest = this->call;
	this->proto = this->outer ? OLD_LUA[WORD[this->self + OLD_FUNC]] : 0;
	this->status = this->proto ? is_lua : 0;
	if (this->proto && INT[this->self + OLD_TAILS])
		this->status |= IS_TAIL;
	this->from = this->call ? OLD_LUA[WORD[this->call + OLD_FUNC]] : 0;
	this->at = this->from ? WORD[this->call + c_at] : 0;
	this->is_reached |= this->self == this->mine;
	this->is_last = this->is_known && !this->outer ||
	    this->is_reached && this->proto && !(this->from && IS_IN[this->from, this->at] &&
	    HAS_CALLED[this->call, this->at, WORD[this->self + OLD_FUNC]]);
}

/* The prototype and the position of a function of Lua. */
inline void find_position()
{
	this->proto = PROTO[this->self];
	this->code = this->proto ? WORD[this->proto + p_code] : 0;
	this->at = minor == 1 && this->is_first ? WORD[this->state + OLD_AT] :
	    WORD[this->self + c_at];
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

/* What called it: a function of Lua that is still there (this->from), a hook, a finalizer. */
inline void find_caller()
{
	this->from = 0ull;
	this->from_at = 0ull;
	this->kind = this->status & IS_FINALIZER ? BY_COLLECTOR : this->status & IS_TAIL ?
	    BY_OTHER : BY_LUA;
	if (this->outer && !this->kind) {
		this->status = minor == 1 ? is_lua : STATUS[this->outer];
		this->kind = this->status & IS_HOOKED && (HAS_FINALIZER || this->status & is_lua) ?
		    BY_HOOK :
		    this->status & HAS_FINALIZER ? BY_COLLECTOR : this->status & is_lua ? BY_LUA :
		    BY_OTHER;
		if (!this->kind) {
			this->from = PROTO[this->outer];
			this->from_at = WORD[this->outer + c_at];
			/* a call in this place has no name */
			if (this->from && !IS_IN[this->from, this->from_at])
				this->from = 0;
		}
	}
}

/* The name by which an instruction other than a call has got the function: that of an event. */
inline void name_of_event()
{
	this->name = this->op == TFORCALL ? "for iterator" : IS_GET[this->op] ? "index" :
	    this->op >= SETTABUP && this->op <= SETLAST ? "newindex" :
	    this->op == UNM ? "unm" : this->op == UNM + 1 && minor > 2 ? "bnot" :
	    this->op == LEN ? "len" : this->op == LEN + 1 ? "concat" :
	    this->op == EQ ? "eq" :
	    /* 5.4: comparisons with constants, before 5.4.3 without names of their own */
	    minor == 4 && IS_FINALIZER ? this->op == EQ + 1 || this->op == EQ + 2 ||
		this->op == EQ + 5 || this->op == EQ + 6 ? "order" :
		this->op == CLOSE || this->op == RETURN ? "close" : "" :
	    this->op == EQ + 1 || minor == 4 && (this->op == LTI || this->op == GTI) ? "lt" :
	    this->op == EQ + 2 || minor == 4 && (this->op == LEI || this->op == GEI) ? "le" :
	    minor == 4 && (this->op == CLOSE || this->op == RETURN) ? "close" : "";
}

/*
 * What the instruction that calls says of the name; or (this->look) there is a register that has
 * one.
 */
inline void name_of_call()
{
	this->pc = (int)((this->from_at - WORD[this->from + p_code]) / 4) - 1;
	this->insn = HALF[WORD[this->from + p_code] + 4 * this->pc];
	this->op = OP[this->insn];
	if (this->op == CALL || this->op == CALL + 1)
		this->look = 1;
	else if (minor == 1) /* metamethods have no names, */
		this->look = this->op == TFORCALL; /* and iterators that of the variable */
	else if (minor == 4 ? this->op >= MMBIN && this->op <= MMBINK :
	    this->op > SELF && this->op < UNM)
		this->name = EVENT[ARITHMETIC[this->op, C[this->insn]]];
	else
		name_of_event();
	if (minor < 4 && strlen(this->name) && this->op != TFORCALL)
		this->name = strjoin("__", this->name);
}

/* The local variable in the register, or 0. */
inline void find_local()
{
	this->vars = WORD[this->from + P_VARS];
	this->end = this->vars + 16 * (uint64_t)HALF[this->from + P_NVARS];
	this->left = this->reg + 1;
	this->var = 0ull;
	while (this->vars < this->end && this->left &&
	    INT[this->vars + 8] <= this->pc; 256) {
		this->left -= this->pc < INT[this->vars + 12];
		this->var = this->left ? 0 : WORD[this->vars];
		this->vars += 16;
	}
}

/*
 * 5.1: behind an instruction that makes a function stands one for each of its variables from
 * outside, which looks like one for register 0: goes on before these.
 */
inline void skip_upvalues()
{
	this->index = this->set;
	while (this->index > 0 && A[this->insn] == 0 &&
	    (this->op == MOVE || this->op == GETUPVAL); 64) {
		this->index--;
		this->insn = HALF[this->insns + 4 * this->index];
		this->op = OP[this->insn];
	}
	this->more = this->op == CLOSURE &&
	    this->set - this->index <=
		BYTE[WORD[WORD[this->from + OLD_PROTOS] + 8 * (uint64_t)BX[this->insn]] +
		    OLD_NUPVALUES];
	if (this->more) {
		this->index++;
		this->set = -1;
	} else {
		this->insn = HALF[this->insns + 4 * this->set];
		this->op = OP[this->insn];
	}
}

/*
 * 5.1 takes all jumps forward, but none past the call: where one leads past the instruction, goes
 * on with those before the jump (this->more).
 */
inline void follow_jumps()
{
	this->index = this->set > 128 ? this->set - 128 : 0;
	this->from_jump = this->index;
	while (this->index < this->set; 128) {
		this->jump = HALF[this->insns + 4 * this->index];
		this->to = OP[this->jump] == JMP || OP[this->jump] == FORPREP ?
		    this->index + 1 + JUMP[this->jump] : 0;
		this->from_jump = this->index;
		this->index = this->to > this->index && this->to <= this->pc ? this->to :
		    this->index + 1;
	}
	this->more = this->index > this->set;
	if (this->more) {
		this->index = this->from_jump;
		this->set = -1;
	}
}

/*
 * The last instruction that sets the register, unless a jump leads past it; calls set all from
 * theirs on.
 */
inline void find_setter()
{
	this->set = -1;
	this->index = this->var ? 0 : this->pc;
	this->insns = WORD[this->from + p_code];
	this->op_call = CALL;
	this->op_nil = LOADNIL;
	this->op_for = TFORCALL;
	this->op_jump = JMP;
	this->more = 1;
	while (this->more; 8) {
		while (this->index > 0 && this->set < 0; 1024) {
			this->index--;
			this->insn = HALF[this->insns + 4 * this->index];
			this->op = OP[this->insn];
			this->a = A[this->insn];
			if (this->reg <= this->a)
				this->change = this->reg == this->a && SETS[this->op];
			else
				this->change = this->op == this->op_call || this->op == this->op_call + 1 ||
				    this->op == this->op_nil &&
					this->reg <= (minor == 1 ? 0 : this->a) + B[this->insn] ||
				    this->op == this->op_for && this->reg >= this->a + 2;
			if (this->change)
				this->set = this->index;
		}
		this->more = 0;
		if (minor == 1 && this->set >= 0 && this->reg == 0)
			skip_upvalues();
		if (minor == 1 && this->set >= 0)
			follow_jumps();
	}
	while (minor > 1 && this->index > 0 && this->set >= 0; 128) {
		this->index--;
		this->jump = HALF[this->insns + 4 * this->index];
		if (OP[this->jump] == this->op_jump) {
			this->to = this->index + 1 + JUMP[this->jump];
			if (this->to > this->set && this->to <= this->pc)
				this->set = -1;
		}
	}
}

/* The name of what was found, or (this->look) another register to look for: 2 if it has a key. */
inline void name_of_register()
{
	this->a = C[this->insn];
	this->mode = this->look;
	this->look = 0;
	if (this->var)
		this->name = this->mode == 2 ? "?" : TEXT[this->var];
	else if (this->set < 0 || this->mode == 2 && this->op != MOVE && this->op != LOADK)
		this->name = this->mode == 2 ? "?" : "";
	else if (this->op == MOVE && B[this->insn] < A[this->insn]) {
		this->look = this->mode;
		this->reg = B[this->insn];
	} else if (minor == 1 && this->op == GETTABUP) /* it gets a global variable */
		this->name = CONSTANT[this->from, BX[this->insn]];
	else if (IS_GET[this->op] &&
	    (minor < 4 ? this->a & 256 : this->op == SELF ? this->insn >> 15 & 1 :
	    this->op == GETTABUP || this->op == GETTABUP + 3))
		this->name = CONSTANT[this->from, this->a & 255];
	else if (minor == 4 && this->op == GETTABUP + 2)
		this->name = "integer index";
	else if (minor == 1 && IS_GET[this->op])
		this->name = "?";
	else if (IS_GET[this->op]) {
		this->look = 2;
		this->reg = this->a;
	} else if (this->op == GETUPVAL) {
		this->var = WORD[WORD[this->from + P_UPVALUES] +
		    (minor == 1 ? 8 : 16) * (uint64_t)B[this->insn]];
		this->name = this->var ? TEXT[this->var] : "?";
	} else if (this->op == LOADK && minor > 1)
		this->name = CONSTANT[this->from, BX[this->insn]];
	else
		this->name = this->mode == 2 ? "?" : "";
}

inline void find_line()
{
	this->pc = (int)((this->at - WORD[this->proto + p_code]) / 4) - (this->at > this->code);
	this->vars = WORD[this->proto + P_LINES];
	/* 5.4: differences from a line in another table, or from the first one */
	if (minor == 4) {
		this->line = INT[this->proto + P_FIRST];
		this->index = -1;
		this->to = (int)ubsearch(WORD[this->proto + 96], HALF[this->proto + 40], 8, 4,
		    this->pc);
		if (this->to >= 0) {
			this->index = INT[WORD[this->proto + 96] + 8 * this->to];
			this->line = INT[WORD[this->proto + 96] + 8 * this->to + 4];
		}
		while (this->vars && this->index < this->pc; 256) {
			this->index++;
			this->line += *(int8_t *)(this->vars + this->index);
		}
	} else
		this->line = this->vars ? INT[this->vars + 4 * this->pc] : -1;
}

inline void find_file()
{
	this->var = WORD[this->proto + p_source];
	this->file = TEXT[this->var];
	this->op = BYTE[this->var + 24];
	if (this->op == '@' || this->op == '=')
		this->file = substr(this->file, 1);
	else {
		this->to = index(this->file, "\n");
		this->most = minor == 1 ? 43 : 45;
		this->left = this->to >= 0 || strlen(this->file) >= (minor == 1 ? 44 : 45);
		this->file = substr(this->file, 0,
		    this->to >= 0 && this->to < this->most ? this->to : this->most);
		this->file =
		    strjoin("[string \"", strjoin(this->file, this->left ? "...\"]" : "\"]"));
	}
}

inline void name_call()
{
	this->name = this->kind == BY_HOOK ? "?" : this->kind == BY_COLLECTOR ? "__gc" : "";
	this->look = 0;
	if (this->from)
		name_of_call();
	/* a name of what is in the register that is called, or (2) of a key */
	this->reg = this->from ? A[this->insn] : 0;
	while (this->look; 8) {
		find_local();
		find_setter();
		name_of_register();
		if (minor > 1)
			this->pc = this->set;
	}
}

inline void show_call()
{
	if (!this->proto)
		uframe("@[C] (", strlen(this->name) ? this->name : "?", ")");
	if (this->proto) {
		find_line();
		find_file();
		if (strlen(this->name) || !HALF[this->proto + P_FIRST])
			uframe("@", this->file, ":", this->line, " (",
			    strlen(this->name) ? this->name : "main chunk", ")");
		else
			uframe("@", this->file, ":", this->line, " (function <", this->file, ":",
			    INT[this->proto + P_FIRST], ">)");
	}
}

/* Adds the text of a string to what tells names apart: its hash; of a long one, length and end. */
inline void print_text()
{
	this->word = WORD[this->text + 8];
	this->names = (this->names ^ this->word >> 32) * PRIME;
	if ((this->word & 255) == LONG_TEXT)
		this->names = (this->names ^ WORD[this->text + 16] << 32 ^
		    WORD[this->text + 16 + WORD[this->text + 16]]) * PRIME;
}

/* The constant this->index of the caller, if it is a text. */
inline void print_constant()
{
	this->vars = WORD[this->from + P_CONSTANTS] + VALUE_SIZE * (uint64_t)this->index;
	if ((BYTE[this->vars + VALUE_TAG] & 15) == 4) {
		this->text = WORD[this->vars];
		print_text();
	}
}

/* The name of the variable this->index from outside. */
inline void print_upvalue()
{
	this->text = WORD[WORD[this->from + P_UPVALUES] +
	    (minor == 1 ? 8 : 16) * (uint64_t)this->index];
	if (this->text)
		print_text();
}

inline void print_locals()
{
	this->index = 0;
	this->vars = WORD[this->from + P_VARS];
	this->left = HALF[this->from + P_NVARS];
	while (this->index < this->left && this->index < 4; 4) {
		this->text = WORD[this->vars];
		print_text();
		this->vars += 16;
		this->index++;
	}
}

/* The first names that the caller knows, where it is not plain which one the call has. */
inline void print_all_names()
{
	this->index = 0;
	this->left = HALF[this->from + p_ncode - 4];
	while (this->index < this->left && this->index < 8; 8) {
		print_constant();
		this->index++;
	}
	this->index = 0;
	this->left = WORD[this->from + P_UPVALUES] ? HALF[this->from + p_ncode - 8] : 0;
	while (this->index < this->left && this->index < 4; 4) {
		print_upvalue();
		this->index++;
	}
	print_locals();
}

/*
 * What the name of a call depends on: the instruction that calls, the one before it, and the one
 * that sets the register that is called, mostly one of the last, with the name that it has. Other
 * instructions have the names of events.
 */
inline void print_names()
{
	this->word = WORD[this->from_at - 8];
	this->names = (this->word ^ (uint64_t)HALF[this->from + P_FIRST] << 32) * PRIME;
	this->insn = this->word >> 32;
	this->op = OP[this->insn];
	this->look = this->op == CALL || this->op == CALL + 1;
	this->reg = A[this->insn];
	this->insns = WORD[this->from + p_code];
	this->vars = this->from_at - 4;
	this->change = 0;
	while (this->look && !this->change && this->vars > this->insns; 8) {
		this->vars -= 4;
		this->insn = HALF[this->vars];
		this->op = OP[this->insn];
		this->change = A[this->insn] == this->reg && SETS[this->op];
	}
	if (this->look) {
		this->names = (this->names ^ (uint64_t)this->insn << 20) * PRIME;
		this->index = C[this->insn];
		this->word = this->op == SELF ? this->insn >> 15 & 1 :
		    this->op == GETTABUP || this->op == GETTABUP + 3;
		if (minor < 4)
			this->word = this->index & 256;
		if (minor == 1 && this->op == GETTABUP) {
			this->index = BX[this->insn];
			this->word = 1;
		} else
			this->index &= 255;
		if (this->change && IS_GET[this->op] && this->word)
			print_constant();
		else if (this->change && this->op == GETUPVAL) {
			this->index = B[this->insn];
			print_upvalue();
		} else if (this->change && this->op == MOVE)
			print_locals();
		else
			print_all_names();
	}
}

/*
 * A function may come to lie where one was that is gone, of the same file: what the text depends on
 * beside the addresses are the lines where both begin and what the call's name depends on. Calls
 * of one place follow one another where a function calls itself: they have that in common.
 */
inline void print_call()
{
	if (this->from && (this->from != this->named || this->from_at != this->named_at)) {
		print_names();
		this->named = this->from;
		this->named_at = this->from_at;
	}
	this->print = (this->proto ? WORD[this->proto + p_source] << 20 ^
	    (uint64_t)HALF[this->proto + P_FIRST] * PRIME : 0) ^ (this->from ? this->names : 0);
}

/* Shows the call this->call, and goes on to the one that has made it. */
inline void show_next_call()
{
	if (!this->call && !this->is_known) {
		if (minor == 1)
			begin_old_state();
		else
			begin_state();
	}
	if (!this->is_last) {
		if (minor == 1)
			take_old_call();
		else
			take_call();
		this->proto = 0ull;
		this->at = 0ull;
		this->is_shown = this->outer != 0;
		if (this->outer && this->status & is_lua)
			find_position();
		this->is_first = 0;
		find_caller();
		if (this->is_shown)
			print_call();
		if (this->is_shown &&
		    !ucached(this->proto ^ (uint64_t)this->kind << 56 ^ 1ull << 60,
		    this->at ^ this->from << 20, this->from_at ^ this->print)) {
			name_call();
			show_call();
		}
	}
}

dtrace:helper:ustack:
/arg0 >= entered && (arg0 < code_end || arg0 == code_end && arg3)/
{
	this->call = this->rest;
	this->is_known = (uint64_t)0;
	this->is_reached = (uint64_t)(minor == 1);
	this->is_first = (uint64_t)0;
	this->named = 0ull; /* memory that is there now may change until the next probe */
	this->named_at = 0ull;
	/* where a call begins, in its native frame or in that of its caller */
	this->own = (uint64_t)(arg0 < begun ? KEPT[entry_in] : KEPT[call_in]);
	this->mine = this->own;
	/* at the end of the interpreter's function, the register is the caller's */
	this->is_last =
	    (uint64_t)(arg3 == 0 &&
	    (BYTE[arg0] == 0xc3 || BYTE[arg0] == 0x5b || BYTE[arg0] == 0x5d ||
	    (HALF[arg0] & 0xfcff) == 0x5c41));
	/*
	 * in places, as while the variables of a new closure are set, it is something else: a call
	 * is in a list, a state is an object
	 */
	if (minor == 1) {
		this->state = this->own;
		this->is_last |= !IS_POINTER[this->state] ||
		    BYTE[this->state + S_KIND] != KIND_THREAD;
		this->own = this->is_last ? 0 : WORD[this->state + OLD_CALL];
		this->mine = 0;
	} else {
		this->outer = IS_POINTER[this->own] ? WORD[this->own + C_PREVIOUS] : 0;
		this->is_last |= !IS_POINTER[this->outer] ||
		    WORD[this->outer + C_NEXT] != this->own;
	}
	while (!this->is_last; 65536)
		show_next_call();
}
