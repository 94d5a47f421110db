/* SPDX-License-Identifier: MIT */
/*
 * Perl 5.32 to 5.42 (with threads, as Debian has it): frames of subroutines and evals, as
 * "file.pl:49 (Package::function)". The names are those of caller(); the outermost frame is "main".
 *
 * Perl keeps its frames (contexts) in stacks, of which there is a new one for each kind of callback
 * (sort, tie, overload). A call of a subroutine does not recurse in C, so one native frame of
 * Perl_runops_standard() stands for several of them: those up to and including one that was called
 * from C, which has no operation to return to. The interpreter of the thread is in the thread-local
 * variable PL_current_context, before 5.36 in a thread-specific value of the C library.
 *
 * Offsets: intrpvar.h, cop.h, cv.h, gv.h, hv.h of Perl.
 */
#pragma D helper exec "perl|perl5*|libperl*"
#pragma D helper symbol "Perl_runops_standard"

uint64_t runops, runops_end;
uint64_t outer, outer_end;     /* perl_run(), below which nothing is left */
uint64_t call, call_end;       /* Perl_call_sv(), which can make a context of an eval itself */
uint64_t module, variable;     /* PL_current_context */
uint64_t key, specific;	       /* PL_thr_key, and where struct pthread has the values */
uint64_t p_cop, p_info;	       /* offsets in the interpreter */
uint64_t is_old;	       /* names of packages lie behind their table */
uint64_t nextstate, scope;     /* kinds of operations, or 0 */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
/* operations: the kind; the next one that has the same parent, or 0 */
inline uint64_t OPTYPE[uint64_t o] = *(uint16_t *)(o + 32) & 0x1ff;
inline uint64_t SIBLING[uint64_t o] = HALF[o + 32] & 0x4000 ? WORD[o + 8] : 0;
/* how many operations a walk looks at */
inline int OPS_MOST = 1024;
/* values: their body is at 0, the type is in the low 8 bits of the flags: 9 glob, 12 hash, 13 code */
inline uint32_t SVTYPE[uint64_t v] = v && !(v & 7) ? HALF[v + 12] & 0xff : 0;
/* the name of a key: bytes of UTF-8 or of Latin-1 */
inline string KEY[uint64_t k] = *(uint8_t *)(k + 9 + HALF[k + 4]) & 1 ?
    ustr(k + 8, HALF[k + 4]) : ulatin1(k + 8, HALF[k + 4]);

dtrace:helper:attach:
{
	this->revision = symaddr("PL_revision");
	this->version = symaddr("PL_version");
	if (!this->revision || !this->version)
		udecline("this Perl has no symbols");
	this->minor = (int)*(uint8_t *)this->version;
	if (*(uint8_t *)this->revision != 5 || this->minor < 32 || this->minor > 42 || this->minor & 1)
		udecline("this version of Perl is not known (5.32 to 5.42 are)");
	runops = symaddr("Perl_runops_standard");
	runops_end = runops + symsize("Perl_runops_standard");
	outer = symaddr("perl_run");
	outer_end = outer + symsize("perl_run");
	call = symaddr("Perl_call_sv");
	call_end = call + symsize("Perl_call_sv");
	module = tlsmod("PL_current_context");
	variable = tlsoff("PL_current_context");
	is_old = this->minor < 36;
	p_cop = this->minor == 32 ? 224 : 208;
	p_info = p_cop + 16;
	key = symaddr("PL_thr_key");
	this->layout = symaddr("_thread_db_pthread_specific", "libc.so*");
	if (!this->layout)
		this->layout = symaddr("_thread_db_pthread_specific", "libpthread*.so*");
	specific = this->layout ? *(uint32_t *)(this->layout + 8) - 512 + 8 : 0;
	this->names = symaddr("PL_op_name");
	this->i = 0;
	nextstate = scope = 0;
	while (this->names && (!nextstate || !scope) && WORD[this->names + 8 * this->i]; 512) {
		this->text = copyinstr(WORD[this->names + 8 * this->i]);
		nextstate = this->text == "nextstate" ? this->i : nextstate;
		scope = this->text == "scope" ? this->i : scope;
		this->i++;
	}
	if (!runops || !outer || !call || !key || (is_old ? !specific : !module))
		udecline("a symbol is missing: Perl without threads is not known");
}

dtrace:helper:uthread:
{
	this->perl = 0ull;
	if (is_old) {
		this->number = HALF[key];
		if (this->number < 32)
			this->perl = WORD[WORD[arg4 + 16] + specific + 16 * this->number];
	} else {
		this->block = WORD[WORD[arg4 + 8] + 16 * module];
		/* all ones: a thread that has never run Perl */
		this->perl = this->block && ~this->block ? WORD[this->block + variable] : 0;
	}
	this->info = this->perl ? WORD[this->perl + p_info] : 0;
	this->cop = this->perl ? WORD[this->perl + p_cop] : 0;
	this->index = this->info ? *(int *)(this->info + 32) : -1;
	this->op = this->perl ? WORD[this->perl + 8] : 0;
	this->is_op = (uint64_t)1;
	this->searched = 0;
}

dtrace:helper:ustack:
/this->info && (arg0 >= runops && arg0 <= runops_end || arg0 > outer && arg0 <= outer_end ||
    arg0 > call && arg0 <= call_end)/
{
	this->is_last = 0;
	if (arg0 > call && arg0 <= call_end) {
		/* the context of its eval is the innermost one left, and has no operation to return to */
		this->context = WORD[this->info + 8] + 104 * this->index;
		this->is_last = this->index < 0 ? 1 :
		    (*(uint8_t *)this->context & 15) != 11 || WORD[this->context + 48] != 0;
	}
	this->seen = 0;
	while (this->info && !this->is_last; 65536) {
		this->kind = 0;
		this->flags = 0;
		this->next_cop = this->cop;
		this->next_op = this->op;
		this->next_is_op = this->is_op;
		this->cv = (uint64_t)0;
		if (this->index >= 0) {
			this->context = WORD[this->info + 8] + 104 * this->index;
			this->flags = (int)*(uint8_t *)this->context;
			this->kind = this->flags & 15;
			this->index--;
			this->seen = 1;
			if (this->kind == 9 || this->kind == 10) {
				/* code of a regular expression stands in the stack a second time;
				   a context that is just being made has no code */
				this->cv = this->flags & 0x80 ? 0 : WORD[this->context + 72];
				this->is_last = this->cv && !WORD[this->context + 48] && arg0 <= runops_end &&
				    arg0 >= runops;
				/* what is left below it in a callback's stack is of the same native frame:
				   its code is a block, whose last operation has called the subroutine */
				this->is_block = this->is_last;
				while (this->is_block && this->index >= 0; 64) {
					this->below = WORD[this->info + 8] + 104 * this->index;
					this->flags_below = *(uint8_t *)this->below;
					this->is_block = (this->flags_below & 0x8f) == 0x89 ||
					    (this->flags_below & 15) < 9 || (this->flags_below & 15) > 11;
					this->index -= this->is_block;
				}
			}
			if (arg0 > call && arg0 <= call_end)
				this->is_last = 1;
			if (this->cv || this->kind == 11 && !(this->flags & 0x80)) {
				this->next_cop = WORD[this->context + 16];
				this->next_op = WORD[this->context + 48];
				this->next_is_op = (uint64_t)0;
			} else {
				this->kind = 0;
			}
		} else if (HALF[this->info + 44] == 1) {
			this->kind = 16; /* the outermost stack ends: the program itself */
			this->info = (uint64_t)0;
		} else {
			/* the code of a callback without a subroutine has a native frame of its own */
			this->info = WORD[this->info + 16];
			this->index = this->info ? *(int *)(this->info + 32) : -1;
			this->is_last = this->seen && arg0 >= runops && arg0 <= runops_end;
		}
		if (this->kind && this->cop) {
			this->file = WORD[this->cop + 48];
			this->line = HALF[this->cop + 36];
			this->name = (uint64_t)0;
			this->stash = (uint64_t)0;
			if (SVTYPE[this->cv] == 13) {
				this->body = WORD[this->cv];
				if (HALF[this->body + 92] & 0x8000) {
					this->name = WORD[this->body + 56];
					/* a lexical subroutine has no package */
					this->stash = HALF[this->body + 92] & 0x10000 ? 0 : WORD[this->body + 32];
				} else {
					this->gv = WORD[this->body + 56];
					if (SVTYPE[this->gv] == 9 && HALF[this->gv + 12] & 0x8000) {
						this->egv = WORD[WORD[this->gv + 16] + 56];
						if (SVTYPE[this->egv] == 9)
							this->gv = this->egv;
						this->name = WORD[WORD[this->gv] + 32];
						this->stash = WORD[WORD[this->gv] + 40];
					}
				}
			}
			/* names begin with their hash; memory of files and subroutines is used again. The last of the second
			   numbers is that of a statement in which too much has to be searched */
			this->hash = this->file ? uhash(this->file, 8) : 0;
			this->hash = this->cop + this->hash ^ this->op << 16;
			this->what = this->cv ^ (uint64_t)this->kind << 56 ^ (uint64_t)this->line << 32;
			this->mark = (this->name ^ this->file << 8 ^ this->stash << 16) + (this->name ? WORD[this->name] : 0);
			if (!ucached(this->hash, this->what, this->mark) && !ucached(this->hash, this->what, ~this->mark)) {
				this->is_whole = !this->searched;
				/*
				 * A statement has several lines, and in it may be blocks that have lost the operation that
				 * says where they begin. As caller() does, the one is searched that lies closest before the
				 * operation that is executed, or behind whose end it goes on (retop).
				 */
				this->root = nextstate && this->op ? SIBLING[this->cop] : 0;
				this->at = this->root;
				this->found = this->is_op ? this->op : 0;
				while (this->at && !this->found && this->searched < OPS_MOST; 1024) {
					this->searched++;
					this->word = HALF[this->at + 32];
					if (WORD[this->at] == this->op && (this->word & 0x1ff) != scope) {
						this->found = this->at;
					} else if (this->word & 0x40000) {
						this->at = WORD[this->at + 40];
					} else {
						while (!(this->word & 0x4000) && this->at != this->root; 64) {
							this->at = WORD[this->at + 8];
							this->word = HALF[this->at + 32];
						}
						this->at = this->at != this->root ? WORD[this->at + 8] : 0;
					}
				}
				this->is_cut = this->at && !this->found;
				/* from there up to the statement: does one that comes before, of the same parent, begin a block? */
				this->closest = (uint64_t)0;
				this->parent = (uint64_t)0;
				while (this->root && this->found && this->found != this->root; 64) {
					this->at = this->found;
					while (HALF[this->at + 32] & 0x4000; 1024)
						this->at = WORD[this->at + 8];
					this->parent = WORD[this->at + 8];
					this->at = this->parent && !this->closest ? WORD[this->parent + 40] : 0;
					while (this->at; 1024) {
						if (!OPTYPE[this->at] && WORD[this->at + 24] == nextstate)
							this->closest = this->at;
						this->at = this->at == this->found ? 0 : SIBLING[this->at];
					}
					this->found = this->parent;
				}
				if (this->closest && this->found == this->root)
					this->line = HALF[this->closest + 36];
				else if (this->found != this->root && !this->is_op)
					this->is_cut = this->root != 0 && (this->is_cut || this->parent);

				/* a search that did not come to its end leaves the line out, until the walk of another stack can do it */
				if (this->is_cut && this->is_whole || !ucached(this->hash, this->what + this->is_cut, this->mark)) {
					this->place = this->is_cut ? "" : strjoin(":", lltostr(this->line));
					this->package = (uint64_t)0;
					if (SVTYPE[this->stash] == 12 && HALF[this->stash + 12] & 0x2000000) {
						this->aux = WORD[this->stash] + 32;
						if (is_old)
							this->aux = WORD[this->stash + 16] + 8 * WORD[WORD[this->stash] + 24] + 8;
						this->package = WORD[this->aux];
						if (HALF[this->aux + 28] && this->package)
							this->package = WORD[this->package];
					}
					if (this->kind == 11)
						uframe("@", copyinstr(this->file), this->place, " (eval)");
					else if (this->kind == 16)
						uframe("@", copyinstr(this->file), this->place, " (main)");
					else if (this->name && this->package)
						uframe("@", copyinstr(this->file), this->place, " (", KEY[this->package], "::", KEY[this->name], ")");
					else if (this->name)
						uframe("@", copyinstr(this->file), this->place, " (", KEY[this->name], ")");
				}
			}
		}
		this->cop = this->next_cop;
		this->op = this->next_op;
		this->is_op = this->next_is_op;
	}
}
