/* SPDX-License-Identifier: MIT */
/*
 * Perl 5.30 to 5.42 (with threads, as Debian has it): frames of subroutines and evals, as
 * "file.pl:49 (Package::function)". The names are those of caller(); the outermost frame is "main".
 *
 * Perl keeps its frames (contexts) in stacks, of which there is a new one for each kind of callback
 * (sort, tie, overload). A call of a subroutine does not recurse in C, so one native frame of
 * Perl_runops_standard() stands for several of them: those up to and including one that was called
 * from C, which has no operation to return to. The interpreter of the thread is in the thread-local
 * variable PL_current_context, before 5.36 in a thread-specific value of the C library.
 *
 * Offsets: intrpvar.h, cop.h, op.h, cv.h, gv.h, hv.h of Perl.
 */
#pragma D helper exec "perl|perl5*|libperl*"
#pragma D helper symbol "Perl_runops_standard"

table VERSIONS { /*         5.30  5.32  5.34  5.36  5.38  5.40  5.42 */
	uint64_t minor	  =   30,   32,   34,   36,   38,   40,   42;
	/* offsets in the interpreter: PL_curcop, PL_curstackinfo */
	uint64_t p_cop	  =  224,  224,  208,  208,  208,  208,  208;
	uint64_t p_info	  =  240,  240,  224,  224,  224,  224,  224;
	/* of a stack of contexts: its type; of a context: its size, the code */
	uint64_t si_type  =   40,   44,   44,   44,   44,   44,   44;
	uint64_t cx_size  =   96,  104,  104,  104,  104,  104,  104;
	uint64_t cx_cv	  =   64,   72,   72,   72,   72,   72,   72;
	/*
	 * the interpreter is in a thread-specific value; the names of packages lie behind their
	 * table
	 */
	uint64_t is_old	  =    1,    1,    1,    0,    0,    0,    0;
};

inline int P_OP = 8; /* the operation that is executed, PL_op */

uint64_t runops, runops_end;
uint64_t outer, outer_end;     /* perl_run(), below which nothing is left */
uint64_t call, call_end;       /* Perl_call_sv(), which can make a context of an eval itself */
uint64_t module, variable;     /* PL_current_context */
uint64_t key, specific;	       /* PL_thr_key, and where struct pthread has the values */
uint64_t nextstate, scope;     /* kinds of operations, or 0 */

/* struct stackinfo: its contexts, the index of the innermost one, the stack outside */
inline int SI_CXSTACK = 8;
inline int SI_PREV = 16;
inline int SI_CXIX = 32;
inline int SI_TYPE_MAIN = 1;
/* struct context (PERL_CONTEXT): the statement that is left, the operation to return to */
inline int CX_OLDCOP = 16;
inline int CX_RETOP = 48;
/* cx_type: its kind in the low bits, flags above */
inline int CX_TYPEMASK = 15;
inline int CX_SUB = 9;
inline int CX_FORMAT = 10;
inline int CX_EVAL = 11;
/* of a subroutine: a second context of code in a regular expression */
inline int CX_RE_FAKE = 0x80;
inline int CX_TRY = 0x80;     /* of an eval: a try block */
inline int MAIN = 16;	      /* no kind of Perl's: the program itself */
/*
 * struct op: what executes it, the next one, kind and flags, the first child; struct cop: line,
 * file
 */
inline int OP_SIBLING = 8;
inline int OP_TARG = 24;
inline int OP_TYPE = 32;
inline int OP_FIRST = 40;
inline int OP_TYPE_MASK = 0x1ff;
/* OP_SIBLING is the next one of the same parent, or else the parent */
inline int OP_MORESIB = 0x4000;
inline int OP_KIDS = 0x40000;	/* it has children */
inline int COP_LINE = 36;
inline int COP_SEQ = 60;
inline int COP_FILE = 48;
/* values: their body is at 0, the type is in the low 8 bits of the flags */
inline int SV_FLAGS = 12;
inline int SV_GLOB = 9;
inline int SV_HASH = 12;
inline int SV_CODE = 13;
inline uint32_t SVTYPE[uint64_t v] = v && !(v & 7) ? HALF[v + SV_FLAGS] & 0xff : 0;
/* bodies of code: its package, its name or glob, flags; of a glob: package and key of the name */
inline int CV_STASH = 32;
inline int CV_NAME = 56;
inline int CV_FLAGS = 92;
inline int CV_NAMED = 0x8000;	 /* CV_NAME is a key, and no glob */
inline int CV_LEXICAL = 0x10000; /* "my sub": it has no package */
inline int GV_NAME = 32;
inline int GV_STASH = 40;
inline int GV_PROPER = 0x8000; /* in the flags of a value: it is a real glob (isGV_with_GP) */
inline int GP_EGV = 56;
inline int HV_HAS_AUX = 0x2000000;

/* operations: the kind; the next one that has the same parent, or 0 */
inline uint64_t OPTYPE[uint64_t o] = SHORT[o + OP_TYPE] & OP_TYPE_MASK;
inline uint64_t SIBLING[uint64_t o] = HALF[o + OP_TYPE] & OP_MORESIB ? WORD[o + OP_SIBLING] : 0;
/* how many operations a walk looks at */
inline int OPS_MOST = 1024;
/* the name of a key: bytes of UTF-8 or of Latin-1 */
inline string KEY[uint64_t k] = BYTE[k + 9 + HALF[k + 4]] & 1 ?
    ustr(k + 8, HALF[k + 4]) : ulatin1(k + 8, HALF[k + 4]);
inline int IN_RUNOPS = arg0 >= runops && arg0 <= runops_end;
inline int IN_CALL = arg0 > call && arg0 <= call_end;

dtrace:helper:attach:
{
	this->revision = symaddr("PL_revision");
	this->version = symaddr("PL_version");
	if (!this->revision || !this->version)
		udecline("this Perl has no symbols");
	if (BYTE[this->revision] != 5 || !VERSIONS[BYTE[this->version]])
		udecline("this version of Perl is not known (5.30 to 5.42 are)");
	runops = symaddr("Perl_runops_standard");
	runops_end = runops + symsize("Perl_runops_standard");
	outer = symaddr("perl_run");
	outer_end = outer + symsize("perl_run");
	call = symaddr("Perl_call_sv");
	call_end = call + symsize("Perl_call_sv");
	module = tlsmod("PL_current_context");
	variable = tlsoff("PL_current_context");
	key = symaddr("PL_thr_key");
	find_specific();
	specific = this->specific;
	if (!runops || !outer || !call || !key || (is_old ? !specific : !module))
		udecline("a symbol is missing: Perl without threads is not known");
}

/* Numbers of operations differ from build to build; PL_op_name has their names in order. */
dtrace:helper:attach:
{
	this->names = symaddr("PL_op_name");
	this->i = 0;
	nextstate = scope = 0;
	while (this->names && (!nextstate || !scope) && WORD[this->names + 8 * this->i]; 512) {
		this->text = copyinstr(WORD[this->names + 8 * this->i]);
		nextstate = this->text == "nextstate" ? this->i : nextstate;
		scope = this->text == "scope" ? this->i : scope;
		this->i++;
	}
}

dtrace:helper:uthread:
{
	this->perl = 0ull;
	if (is_old) {
		this->number = HALF[key];
		this->perl = SPECIFIC[specific, this->number];
	} else {
		this->block = TLS[module];
		/* all ones: a thread that has never run Perl */
		this->perl = this->block && ~this->block ? WORD[this->block + variable] : 0;
	}
	this->info = this->perl ? WORD[this->perl + p_info] : 0;
	this->cop = this->perl ? WORD[this->perl + p_cop] : 0;
	this->index = this->info ? INT[this->info + SI_CXIX] : -1;
	this->op = this->perl ? WORD[this->perl + P_OP] : 0;
	this->is_op = (uint64_t)1;
	this->searched = 0;
	this->was_stash = (uint64_t)0;
	this->package_hash = (uint64_t)0;
	this->package = (uint64_t)0;
}

/*
 * What is left below the code of a callback in its stack is of the same native frame: the code is a
 * block, whose last operation has called the subroutine.
 */
inline void skip_block()
{
	this->is_block = this->is_last;
	while (this->is_block && this->index >= 0; 64) {
		this->below = WORD[this->info + SI_CXSTACK] + cx_size * this->index;
		this->flags_below = BYTE[this->below];
		this->is_block =
		    (this->flags_below & (CX_RE_FAKE | CX_TYPEMASK)) == (CX_RE_FAKE | CX_SUB) ||
		    (this->flags_below & CX_TYPEMASK) < CX_SUB ||
		    (this->flags_below & CX_TYPEMASK) > CX_EVAL;
		this->index -= this->is_block;
	}
}

/* Takes the next context off the stack: what it is (this->kind), and what has called it. */
inline void take_context()
{
	this->context = WORD[this->info + SI_CXSTACK] + cx_size * this->index;
	this->flags = (int)BYTE[this->context];
	this->kind = this->flags & CX_TYPEMASK;
	this->index--;
	this->seen = 1;
	if (this->kind == CX_SUB || this->kind == CX_FORMAT) {
		/* code of a regular expression stands in the stack a second time;
		   a context that is just being made has no code */
		this->cv = this->flags & CX_RE_FAKE ? 0 : WORD[this->context + cx_cv];
		this->is_last = this->cv && !WORD[this->context + CX_RETOP] && IN_RUNOPS;
		skip_block();
	}
	if (IN_CALL)
		this->is_last = 1;
	if (this->cv || this->kind == CX_EVAL && !(this->flags & CX_TRY)) {
		this->next_cop = WORD[this->context + CX_OLDCOP];
		this->next_op = WORD[this->context + CX_RETOP];
		this->next_is_op = (uint64_t)0;
	} else {
		this->kind = 0;
	}
}

/* The next frame of Perl: its kind, or 0 if this step leads to none. */
inline void next_frame()
{
	this->kind = 0;
	this->flags = 0;
	this->next_cop = this->cop;
	this->next_op = this->op;
	this->next_is_op = this->is_op;
	this->cv = (uint64_t)0;
	if (this->index >= 0) {
		take_context();
	} else if (HALF[this->info + si_type] == SI_TYPE_MAIN) {
		this->kind = MAIN; /* the outermost stack ends: the program itself */
		this->info = (uint64_t)0;
	} else {
		/* the code of a callback without a subroutine has a native frame of its own */
		this->info = WORD[this->info + SI_PREV];
		this->index = this->info ? INT[this->info + SI_CXIX] : -1;
		this->is_last = this->seen && IN_RUNOPS;
	}
}

/* Key of the name and package of a subroutine, 0 where it has none. */
inline void find_name()
{
	this->name = (uint64_t)0;
	this->stash = (uint64_t)0;
	if (SVTYPE[this->cv] == SV_CODE) {
		this->body = WORD[this->cv];
		if (HALF[this->body + CV_FLAGS] & CV_NAMED) {
			this->name = WORD[this->body + CV_NAME];
			this->stash = HALF[this->body + CV_FLAGS] & CV_LEXICAL ? 0 :
			    WORD[this->body + CV_STASH];
		} else {
			this->gv = WORD[this->body + CV_NAME];
			if (SVTYPE[this->gv] == SV_GLOB && HALF[this->gv + SV_FLAGS] & GV_PROPER) {
				this->egv = WORD[WORD[this->gv + 16] + GP_EGV];
				if (SVTYPE[this->egv] == SV_GLOB)
					this->gv = this->egv;
				this->name = WORD[WORD[this->gv] + GV_NAME];
				this->stash = WORD[WORD[this->gv] + GV_STASH];
			}
		}
	}
}

/*
 * A statement has several lines, and in it may be blocks that have lost the operation that says
 * where they begin. As caller() does, the one is searched that lies closest before the operation
 * that is executed, or behind whose end it goes on (retop). First: that operation, from the
 * statement on.
 */
inline void find_op()
{
	this->root = nextstate && this->op ? SIBLING[this->cop] : 0;
	this->at = this->root;
	this->found = this->is_op ? this->op : 0;
	while (this->at && !this->found && this->searched < OPS_MOST; 1024) {
		this->searched++;
		this->word = HALF[this->at + OP_TYPE];
		if (WORD[this->at] == this->op && (this->word & OP_TYPE_MASK) != scope) {
			this->found = this->at;
		} else if (this->word & OP_KIDS) {
			this->at = WORD[this->at + OP_FIRST];
		} else {
			while (!(this->word & OP_MORESIB) && this->at != this->root; 64) {
				this->at = WORD[this->at + OP_SIBLING];
				this->word = HALF[this->at + OP_TYPE];
			}
			this->at = this->at != this->root ? WORD[this->at + OP_SIBLING] : 0;
		}
	}
	this->is_cut = this->at && !this->found;
}

/* From there up to the statement: does one that comes before, of the same parent, begin a block? */
inline void find_line()
{
	this->closest = (uint64_t)0;
	this->parent = (uint64_t)0;
	while (this->root && this->found && this->found != this->root; 64) {
		this->at = this->found;
		while (HALF[this->at + OP_TYPE] & OP_MORESIB; 1024)
			this->at = WORD[this->at + OP_SIBLING];
		this->parent = WORD[this->at + OP_SIBLING];
		this->at = this->parent && !this->closest ? WORD[this->parent + OP_FIRST] : 0;
		while (this->at; 1024) {
			if (!OPTYPE[this->at] && WORD[this->at + OP_TARG] == nextstate)
				this->closest = this->at;
			this->at = this->at == this->found ? 0 : SIBLING[this->at];
		}
		this->found = this->parent;
	}
	if (this->closest && this->found == this->root)
		this->line = HALF[this->closest + COP_LINE];
	else if (this->found != this->root && !this->is_op)
		this->is_cut = this->root != 0 && (this->is_cut || this->parent);
}

/* Key of the name of the package, 0 where the subroutine has none. */
inline void find_package()
{
	this->package = (uint64_t)0;
	if (SVTYPE[this->stash] == SV_HASH && HALF[this->stash + SV_FLAGS] & HV_HAS_AUX) {
		this->aux = WORD[this->stash] + 32;
		if (is_old)
			this->aux = WORD[this->stash + 16] + 8 * WORD[WORD[this->stash] + 24] + 8;
		this->package = WORD[this->aux];
		if (HALF[this->aux + 28] && this->package)
			this->package = WORD[this->package];
	}
}

inline void show_frame()
{
	this->place = this->is_cut ? "" : strjoin(":", lltostr(this->line));
	if (this->kind == CX_EVAL)
		uframe("@", copyinstr(this->file), this->place, " (eval)");
	else if (this->kind == MAIN)
		uframe("@", copyinstr(this->file), this->place, " (main)");
	else if (this->name && this->package)
		uframe("@", copyinstr(this->file), this->place, " (", KEY[this->package], "::",
		    KEY[this->name], ")");
	else if (this->name)
		uframe("@", copyinstr(this->file), this->place, " (", KEY[this->name], ")");
}

/*
 * The numbers under which a frame is recorded. Memory of files, statements, names and packages is
 * used again, so the texts count as a whole, and no address of them: the hash of the file's name,
 * and what a key begins with, which is the hash of its text, of 32 bits, and the length. Of a
 * statement the number counts that Perl has given to the block in which it was compiled: what lies
 * there later has a higher one.
 *
 * The third number of a statement in which too much has to be searched, even by a walk that has
 * searched nothing else, is TOO_LONG: such a frame never has a line. If only this walk has searched
 * too much already, the second number is one that no walk looks for.
 */
inline uint64_t TOO_LONG = ~this->mark;

inline void name_frame()
{
	this->file = WORD[this->cop + COP_FILE];
	this->line = HALF[this->cop + COP_LINE];
	find_name();
	/* most frames have the package of the one before */
	if (this->stash != this->was_stash) {
		this->was_stash = this->stash;
		find_package();
		this->package_hash = this->package ? WORD[this->package] : 0;
	}
	this->hash = (this->file ? uhashstr(this->file) : 0) +
	    ((uint64_t)HALF[this->cop + COP_SEQ] << 32 ^ this->line);
	this->what = this->cop << 5 ^ this->kind << 1 ^ this->is_op;
	this->mark = this->op + this->package_hash * 31;
	this->label = this->name ? WORD[this->name] : 0;
	if (!ucached(this->hash, this->what, this->mark, this->label) &&
	    !ucached(this->hash, this->what, TOO_LONG, this->label)) {
		this->is_whole = !this->searched;
		find_op();
		find_line();
		if (this->is_cut && this->is_whole ||
		    !ucached(this->hash, this->what ^ (uint64_t)this->is_cut << 63, this->mark,
			this->label))
			show_frame();
	}
}

dtrace:helper:ustack:
/this->info && (IN_RUNOPS || arg0 > outer && arg0 <= outer_end || IN_CALL)/
{
	this->is_last = 0;
	if (IN_CALL) {
		/*
		 * the context of its eval is the innermost one left, and has no operation to return
		 * to
		 */
		this->context = WORD[this->info + SI_CXSTACK] + cx_size * this->index;
		this->is_last = this->index < 0 ? 1 :
		    (BYTE[this->context] & CX_TYPEMASK) != CX_EVAL ||
		    WORD[this->context + CX_RETOP] != 0;
	}
	this->seen = 0;
	while (this->info && !this->is_last; 65536) {
		next_frame();
		if (this->kind && this->cop)
			name_frame();
		this->cop = this->next_cop;
		this->op = this->next_op;
		this->is_op = this->next_is_op;
	}
}
