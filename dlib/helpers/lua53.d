/*
 * Lua 5.3: frames of Lua functions and of functions in C, as lua.d has them for 5.4. What differs:
 * each instruction notes its position in the call before it is executed, instructions have other
 * numbers and fields, lines are in a table of their own, and names of metamethods begin with "__".
 *
 * Offsets: lstate.h, lobject.h; instructions: lopcodes.h; names: ldebug.c of Lua 5.3.
 */
#pragma D helper exec "lua|lua5.3|liblua5.3*.so*|liblua.so*"
#pragma D helper symbol "lua_callk"
#pragma D helper registers "in_other"

uint64_t todo[int];    /* in attach clauses: functions */
int known[uint64_t];
uint64_t run, run_end; /* luaV_execute(), from where on the call is in its register */
int call_in;	       /* number of that register */
int in_other;	       /* the call is in another register than rbp, which walks restore anyway */

this uint64_t rest; /* the call that the next native frame of the interpreter begins with; 0: of another state */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
inline uint8_t BYTE[uint64_t a] = *(uint8_t *)a;
/* a register that functions preserve, by the number that instructions have for it */
inline uint64_t KEPT[int n] = n == 5 ? arg1 : n == 13 ? uregs[R_R13] : n == 14 ? uregs[R_R14] :
    n == 15 ? uregs[R_R15] : n == 12 ? uregs[R_R12] : uregs[R_RBX];
inline int IS_KEPT[int n] = n == 3 || n == 5 || n >= 12;
/* in attach clauses: the register of the memory operand of an instruction with REX prefix */
inline int BASE[uint64_t a] = (BYTE[a] & 1) << 3 | BYTE[a + 2] & 7;
/* instructions: the code, the operands, whether the code sets the register that it names */
inline uint32_t OP[uint32_t i] = i & 63;
inline uint64_t SETS[uint32_t op] = 0x35b83ffff8ff >> op & 1;
inline int A[uint32_t i] = (int)(i >> 6 & 255);
inline int B[uint32_t i] = (int)(i >> 23);
inline int C[uint32_t i] = (int)(i >> 14 & 511);
inline int IS_POINTER[uint64_t a] = a >= 65536 && !(a & 7) && a < 1ull << 47;
/* the text of a string object, and of the n-th constant of a function */
inline string TEXT[uint64_t s] = ustr(s + 24, BYTE[s + 8] == 0x14 ? WORD[s + 16] : BYTE[s + 11]);
inline string CONSTANT[uint64_t p, int n] = (BYTE[WORD[p + 48] + 16 * n + 8] & 15) == 4 ?
    TEXT[WORD[WORD[p + 48] + 16 * n]] : "?";
/* whether a position, which is that of the next instruction, belongs to a function's code */
inline int IS_IN[uint64_t p, uint64_t at] = at > WORD[p + 56] && at <= WORD[p + 56] + 4 * (uint64_t)HALF[p + 24];
/* the prototype of the function of a call; 0: a result has replaced the function in its slot */
inline uint64_t LUA[uint64_t slot] = (BYTE[slot + 8] & 63) == 6 && BYTE[WORD[WORD[slot] + 24] + 8] == 9 ?
    WORD[WORD[slot] + 24] : 0;
/* what an arithmetic operation looks for */
inline string EVENT[int e] = e < 6 || e > 17 ? "?" :
    substr("add sub mul mod pow div idivbandbor bxorshl shr ", 4 * (e - 6), e == 12 || e == 13 || e == 15 ? 4 : 3);
/* in attach clauses: the entry of the table of functions that has an address, its start and end */
inline uint64_t UNWIND[uint64_t h, uint64_t a] =
    h + *(int *)(h + 16 + 8 * ubsearch(h + 12, HALF[h + 8], 8, 4, (uint32_t)(a - h)));
inline uint64_t START[uint64_t e] = e + 8 + *(int *)(e + 8);

dtrace:helper:attach:
{
	this->ident = symaddr("lua_ident");
	if (!this->ident || !ubytes(this->ident, 32, "4c 75 61 20 35 2e 33 2e")) /* "Lua 5.3." */
		udecline(""); /* lua.d says what is wrong */

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
				if (START[this->entry] == this->target && HALF[this->entry + 12] > 8000) {
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
	/* "mov 0x20(%rbp),%r9" loads the base of the call in rbp */
	this->load = 0ull;
	this->from = run;
	while (run && !this->load && this->from < run + 200; 200) {
		if ((BYTE[this->from] & 0xfa) == 0x48 && BYTE[this->from + 1] == 0x8b && BYTE[this->from + 2] >> 6 == 1 &&
		    BYTE[this->from + 3] == 0x20 && IS_KEPT[BASE[this->from]])
			this->load = this->from;
		this->from++;
	}
	if (!this->load)
		udecline("this Lua was compiled in a way that is not known");
	run = this->load;
	call_in = BASE[this->load];
	in_other = call_in != 5;
}

dtrace:helper:ustack:
/arg0 >= run && (arg0 < run_end || arg0 == run_end && arg3)/
{
	this->call = this->rest;
	this->is_known = (uint64_t)0;
	this->is_reached = (uint64_t)0;
	this->is_first = (uint64_t)0;
	this->own = (uint64_t)KEPT[call_in];
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
			this->state = this->outer - 96;
			if (BYTE[this->state + 8] == 8 && WORD[this->state + 56] == WORD[this->outer])
				this->call = WORD[this->state + 32];
			/* a call that has just ended is still in the register */
			this->outer = this->call;
			while (this->outer && this->outer != this->own; 65536)
				this->outer = WORD[this->outer + 16];
			if (!this->outer && *(uint16_t *)(this->own + 66) & 8) {
				this->rest = this->call;
				this->is_last = 1;
			} else if (!this->outer)
				this->mine = WORD[this->own + 16];
		}
		if (!this->is_last) {
			this->self = this->call;
			this->status = this->call ? *(uint16_t *)(this->call + 66) : 0;
			this->outer = this->call ? WORD[this->call + 16] : 0;
			this->is_reached |= this->call == this->mine;
			this->is_last = this->is_known && !this->outer || this->is_reached && (this->status & 8);
			this->call = this->outer && WORD[this->outer + 16] ? this->outer : 0;
			this->rest = this->call;

			this->proto = 0ull;
			this->at = 0ull;
			this->is_shown = this->outer != 0;
			if (this->outer && (this->status & 2)) {
				this->proto = LUA[WORD[this->self]];
				this->code = this->proto ? WORD[this->proto + 56] : 0;
				this->at = WORD[this->self + 40];
				this->is_shown = this->proto != 0;
				/*
				 * A call that is just being made has no position yet, but what an earlier
				 * one has left there; a tail call has that of its caller. Both are at their
				 * beginning. Otherwise, what is in the slot is a result: the call has ended.
				 */
				if (this->proto && this->is_first && this->self != this->mine &&
				    (this->outer == this->mine || !IS_IN[this->proto, this->at])) {
					this->at = this->code;
				} else if (this->proto && this->at != this->code && !IS_IN[this->proto, this->at]) {
					this->is_shown = this->is_first && OP[HALF[this->at - 4]] == 37;
					this->status |= 0x20;
					this->at = this->code;
				}
			}
			this->is_first = 0;
			/* what called it: a function of Lua that is still there, a hook, a finalizer */
			this->from = 0ull;
			this->from_at = 0ull;
			this->kind = this->status & 0x100 ? 3 : this->status & 0x20 ? 1 : 0;
			if (this->outer && !this->kind) {
				this->status = *(uint16_t *)(this->outer + 66);
				this->kind = !(this->status & 2) ? 1 : this->status & 4 ? 2 : 0;
				if (!this->kind) {
					this->from = LUA[WORD[this->outer]];
					this->from_at = WORD[this->outer + 40];
					/* a call in this place has no name */
					if (this->from && !IS_IN[this->from, this->from_at])
						this->from = 0;
				}
			}
			if (this->is_shown && !ucached(this->proto ^ (uint64_t)this->kind << 56 ^ 1ull << 60, this->at ^ this->from << 20,
			    this->from_at ^ (this->proto ? WORD[this->proto + 104] << 20 : 0))) {
				this->name = this->kind == 2 ? "?" : this->kind == 3 ? "__gc" : "";
				this->look = 0;
				if (this->from) {
					this->pc = (int)((this->from_at - WORD[this->from + 56]) / 4) - 1;
					this->insn = HALF[WORD[this->from + 56] + 4 * this->pc];
					this->op = OP[this->insn];
					if (this->op == 36 || this->op == 37)
						this->look = 1;
					else
						this->name = this->op == 41 ? "for iterator" :
						    this->op == 12 || this->op == 6 || this->op == 7 ? "__index" :
						    this->op == 8 || this->op == 10 ? "__newindex" :
						    this->op >= 13 && this->op <= 24 ? strjoin("__", EVENT[(int)this->op - 7]) :
						    this->op == 25 ? "__unm" : this->op == 26 ? "__bnot" :
						    this->op == 28 ? "__len" : this->op == 29 ? "__concat" :
						    this->op == 31 ? "__eq" : this->op == 32 ? "__lt" :
						    this->op == 33 ? "__le" : "";
				}
				/* a name of what is in the register that is called, or (2) of a key */
				this->reg = A[this->insn];
				while (this->look; 8) {
					/* local variables */
					this->vars = WORD[this->from + 80];
					this->end = this->vars + 16 * (uint64_t)HALF[this->from + 36];
					this->left = this->reg + 1;
					this->var = 0ull;
					while (this->vars < this->end && this->left &&
					    *(int *)(this->vars + 8) <= this->pc; 256) {
						this->left -= this->pc < *(int *)(this->vars + 12);
						this->var = this->left ? 0 : WORD[this->vars];
						this->vars += 16;
					}
					/* the last instruction that sets the register */
					this->set = -1;
					this->index = this->var ? 0 : this->pc;
					while (this->index > 0 && this->set < 0; 1024) {
						this->index--;
						this->insn = HALF[WORD[this->from + 56] + 4 * this->index];
						this->op = OP[this->insn];
						this->a = A[this->insn];
						if (this->op == 36 || this->op == 37)
							this->change = this->reg >= this->a;
						else if (this->op == 4)
							this->change = this->a <= this->reg &&
							    this->reg <= this->a + B[this->insn];
						else if (this->op == 41)
							this->change = this->reg >= this->a + 2;
						else
							this->change = this->reg == this->a && SETS[this->op];
						if (this->change)
							this->set = this->index;
					}
					/* unless a jump leads past it */
					while (this->index > 0 && this->set >= 0; 128) {
						this->index--;
						this->jump = HALF[WORD[this->from + 56] + 4 * this->index];
						this->to = this->index + 1 + (int)(this->jump >> 14) - 131071;
						if (OP[this->jump] == 30 && this->to > this->set && this->to <= this->pc)
							this->set = -1;
					}
					this->a = C[this->insn];
					this->mode = this->look;
					this->look = 0;
					if (this->var)
						this->name = this->mode == 2 ? "?" : TEXT[this->var];
					else if (this->set < 0 || this->mode == 2 && this->op > 1)
						this->name = this->mode == 2 ? "?" : "";
					else if (this->op == 0 && B[this->insn] < A[this->insn]) {
						this->look = this->mode;
						this->reg = B[this->insn];
					} else if ((this->op == 6 || this->op == 7 || this->op == 12) && (this->a & 256))
						this->name = CONSTANT[this->from, this->a & 255];
					else if (this->op == 6 || this->op == 7 || this->op == 12) {
						this->look = 2;
						this->reg = this->a;
					} else if (this->op == 5) {
						this->var = WORD[WORD[this->from + 88] + 16 * (uint64_t)B[this->insn]];
						this->name = this->var ? TEXT[this->var] : "?";
					} else if (this->op == 1)
						this->name = CONSTANT[this->from, (int)(this->insn >> 14)];
					else
						this->name = this->mode == 2 ? "?" : "";
					this->pc = this->set;
				}
				if (!this->proto)
					uframe("@[C] (", strlen(this->name) ? this->name : "?", ")");
				if (this->proto) {
					this->pc = (int)((this->at - WORD[this->proto + 56]) / 4) - (this->at > this->code);
					this->vars = WORD[this->proto + 72];
					this->line = this->vars ? *(int *)(this->vars + 4 * this->pc) : -1;
					this->var = WORD[this->proto + 104];
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
					if (strlen(this->name) || !HALF[this->proto + 40])
						uframe("@", this->file, ":", this->line, " (",
						    strlen(this->name) ? this->name : "main chunk", ")");
					else
						uframe("@", this->file, ":", this->line, " (function <", this->file, ":",
						    *(int *)(this->proto + 40), ">)");
				}
			}
		}
	}
}
