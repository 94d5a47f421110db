/* SPDX-License-Identifier: MIT */
/*
 * Ruby 2.7 to 3.4: frames of Ruby methods, blocks and C methods, as "file.rb:49 (block in
 * function)". The name is the label that Ruby's own backtraces have, from 3.4 on with the class; a
 * C method stands at the line that called it.
 *
 * Ruby keeps its frames (control frames) in an array that grows downwards. A call of a Ruby method
 * by Ruby code does not recurse in C, so one native frame of rb_vm_exec() stands for several of
 * them: those up to and including the first one with the flag FINISH. The thread's execution
 * context is in the thread-local variable ruby_current_ec, before 3.0 in a global one, because only
 * one thread at a time has the lock.
 *
 * Offsets: vm_core.h, method.h, iseq.h, symbol.h, internal/imemo.h, internal/class.h of Ruby.
 */
#pragma D helper exec "ruby*|libruby*"
#pragma D helper symbol "ruby_api_version"

table VERSIONS { /*       2.7  3.0  3.1  3.2  3.3  3.4 */
	uint64_t minor	    =  27,  30,  31,  32,  33,  34;
	uint64_t size	    =  56,  56,  64,  64,  56,  56; /* of a control frame */
	/* in the body of an instruction sequence (struct rb_iseq_constant_body): */
	uint64_t lines	    = 120, 120, 120, 112, 112, 112; /* the line entries */
	/* their number; behind it how positions are packed */
	uint64_t nlines	    = 136, 136, 136, 128, 128, 128;
	/* size of a line entry, which begins with the line */
	uint64_t entry	    =   8,   8,  12,  12,  12,  12;
	/* the first line is a number, not an object */
	uint64_t is_number  =   0,   0,   0,   1,   1,   1;
	/* where short strings have their text; 24: all have their length in front of it */
	uint64_t embedded   =  16,  16,  16,  24,  24,  24;
	/*
	 * labels have the class, as "block in Array#each"; the frame of what handles an exception
	 * stands in the place of the frame of the method that it is part of, and has its name
	 */
	uint64_t with_class =   0,   0,   0,   0,   0,   1;
};

uint64_t exec, exec_end;   /* rb_vm_exec(), which runs the instructions */
uint64_t main, main_end;   /* ruby_run_node(), which runs the whole program */
uint64_t text, text_end;   /* the code of the interpreter, which calls that of YJIT; 0 before 3.1 */
/* code that makes a frame the current one before the frame is filled; 0 but in 2.7 */
uint64_t early, early_end;
uint64_t module, variable; /* ruby_current_ec; module 0: the address of a global variable */
uint64_t symbols;	   /* the array of arrays of the names of ids, 0 where it is not known */
uint64_t last_operator;	   /* the last id that is an operator and has no kind in its low bits */

/* an execution context: its stack, the words of that, the innermost control frame */
inline uint64_t EC_STACK[uint64_t ec] = WORD[ec];
inline int EC_STACK_SIZE = 8;
inline int EC_CFP = 16;
/*
 * a control frame: the position, the instruction sequence, the environment, whose first word has
 * the flags
 */
inline uint64_t CFP_PC[uint64_t frame] = WORD[frame];
inline int CFP_ISEQ = 16;
inline int CFP_EP = 32;
inline int FLAG_FINISH = 0x20;
inline int FLAG_LOCAL = 2; /* of a method; the environment of a block is within another one */
inline int MAGIC_MASK = 0x7fff0001;
inline int MAGIC_CFUNC = 0x55550001;
/* an instruction sequence has its body there; what lies in that */
inline int ISEQ_BODY = 16;
inline int BODY_SIZE = 4; /* the number of its words */
inline int BODY_ENCODED = 8;
inline int BODY_PATH = 64;
inline int BODY_LABEL = 80;
inline int BODY_FIRST_LINE = 88;
/* with classes: the sequence around this one, and that of the method */
inline int BODY_PARENT = 160;
inline int BODY_LOCAL = 168;
/* types of sequences, with which a body begins */
inline int TYPE_METHOD = 1;
inline int TYPE_RESCUE = 4;
inline int TYPE_ENSURE = 5;
inline int TYPE_EVAL = 6;
inline int HANDLES[int type] = type == TYPE_RESCUE || type == TYPE_ENSURE; /* exceptions */
/* a method entry: its definition, which has the name that it was defined by; its class or module */
inline int ME_DEF = 16;
inline int ME_OWNER = 32;
inline int DEF_ID = 32;
inline int IDS_AN_ARRAY = 512; /* each has the string and the symbol of an id */

/*
 * whether a call through a register or a pointer precedes an address, as that of compiled code does
 */
inline int IS_BACK[uint64_t a] = (BYTE[a - 2] == 0xff && (BYTE[a - 1] & 0xf8) == 0xd0) ||
    (BYTE[a - 3] == 0xff && (BYTE[a - 2] & 0x38) == 0x10) ||
    (BYTE[a - 6] == 0xff && (BYTE[a - 5] & 0x38) == 0x10);
inline int IN_TEXT[uint64_t a] = a >= text && a < text_end;
/*
 * whether a call as YJIT makes them precedes an address: "call N" into the interpreter, or "mov
 * $N,%rax; call *%rax"
 */
inline int IS_CALL[uint64_t a] = BYTE[a - 5] == 0xe8 && IN_TEXT[a + INT[a - 4]] ||
    SHORT[a - 2] == 0xd0ff && SHORT[a - 12] == 0xb848;
/* "mov %register,disp8(%register)" with 64 bits */
inline int IS_STORE[uint64_t a, uint8_t disp] = (HALF[a] & 0xc0fff8) == 0x408948 &&
    ((BYTE[a + 2] & 7) != 4 ? BYTE[a + 3] == disp : BYTE[a + 3] == 0x24 && BYTE[a + 4] == disp);
/*
 * whether code is an entry of a procedure linkage table (an indirect jump) that leads to
 * rb_vm_exec()
 */
inline int LEADS[uint64_t a] = SHORT[a] == 0x25ff && WORD[a + 6 + INT[a + 2]] == exec;

/*
 * with classes: what has methods of its own (def self.f), the bits that say whether a name will
 * stay, the name
 */
inline int CLASS_ATTACHED = 128;
inline int CLASS_IS_NAMED = 149;
inline int CLASS_PATH = 152;

/* objects: the type is in the low 5 bits of the flags */
inline int T_CLASS = 2;
inline int T_MODULE = 3;
inline int T_STRING = 5;
inline int T_ARRAY = 7;
inline int T_IMEMO = 26; /* objects of the interpreter itself, which have a kind: */
inline int IMEMO_SVAR = 2; /* special variables; in the second word is what they stand for */
inline int IMEMO_MENT = 6;
inline int IMEMO_ISEQ = 7;
/* of a string: its text lies elsewhere; of an array, the same bit: its elements do not */
inline int NOEMBED = 0x2000;
inline int SINGLETON = 0x2000; /* of a class: it has the methods of one object */
inline int ISTYPE[uint64_t o, int type] = o > 0x20 && !(o & 7) && (WORD[o] & 31) == type;
inline int ISSTRING[uint64_t o] = ISTYPE[o, T_STRING];
inline int ISARRAY[uint64_t o] = ISTYPE[o, T_ARRAY];
inline int ISCLASS[uint64_t o] = ISTYPE[o, T_CLASS] || ISTYPE[o, T_MODULE];
inline int ISIMEMO[uint64_t o, int kind] = ISTYPE[o, T_IMEMO] && (WORD[o] >> 12 & 15) == kind;
/* where the text of a string is, and its bytes */
inline uint64_t TEXT_AT[uint64_t o] = WORD[o] & NOEMBED ? WORD[o + 24] :
    o + (embedded == 24 ? 24 : 16);
inline uint64_t TEXT_SIZE[uint64_t o] = WORD[o] & NOEMBED || embedded == 24 ? WORD[o + 16] :
    WORD[o] >> 14 & 31;
inline string RSTRING[uint64_t o] = ustr(TEXT_AT[o], TEXT_SIZE[o]);
inline uint64_t TEXT_HASH[uint64_t o] = ISSTRING[o] ? uhash(TEXT_AT[o], TEXT_SIZE[o]) : 0;
inline uint64_t ARRAYLEN[uint64_t o] = WORD[o] & NOEMBED ? WORD[o] >> 15 & 3 : WORD[o + 16];
inline uint64_t ARRAYPTR[uint64_t o] = WORD[o] & NOEMBED ? o + 16 : WORD[o + 32];

/*
 * From 3.3 on, neither the variable nor the function is exported: rb_errinfo() begins with finding
 * the variable ("lea x(%rip),%rdi" with a prefix), and rb_iseq_eval() ends with a jump to the
 * function.
 */
inline void find_unexported()
{
	this->tls = symaddr("rb_errinfo");
	this->tls = this->tls ? ubytes(this->tls, 32, "66 48 8d 3d ?? ?? ?? ??") : 0;
	module = this->tls ? WORD[TARGET[this->tls + 4]] : 0;
	variable = this->tls ? WORD[TARGET[this->tls + 4] + 8] : 0;
	this->hdr = secaddr(".eh_frame_hdr", "libruby*");
	this->files = "libruby*";
	if (!this->hdr) {
		this->hdr = secaddr(".eh_frame_hdr", "ruby*");
		this->files = "ruby*";
	}
	this->jump = symaddr("rb_iseq_eval", this->files);
	this->end = this->jump + symsize("rb_iseq_eval", this->files);
	exec = 0;
	while (this->jump && IS_TABLE[this->hdr] && !exec; 64) {
		this->jump = ubytes(this->jump, this->end - this->jump, "e9");
		this->target = this->jump ? TARGET[this->jump + 1] : 0;
		this->jump = this->jump ? this->jump + 1 : 0;
		if (this->target && this->target - this->end + 0x1000000 < 0x2000000) {
			this->found = ENTRY[this->hdr, this->target];
			if (START[this->found] == this->target) {
				exec = this->target;
				exec_end = END[this->found];
			}
		}
	}
}

dtrace:helper:attach:
{
	this->version = symaddr("ruby_api_version");
	if (!this->version)
		udecline("this Ruby has no symbols");
	if (!VERSIONS[10 * INT[this->version] + INT[this->version + 4]])
		udecline("this version of Ruby is not known (2.7 to 3.4 are)");
	exec = symaddr("rb_vm_exec");
	exec_end = exec + symsize("rb_vm_exec");
	module = tlsmod("ruby_current_ec");
	variable = tlsoff("ruby_current_ec");
	if (minor < 30) {
		variable = symaddr("ruby_current_execution_context_ptr");
		module = 0;
	}
	if (minor >= 33)
		find_unexported();
	if (!exec || (!module && (minor > 27 || !variable)))
		udecline("a symbol is missing");
	main = symaddr("ruby_run_node");
	main_end = main + symsize("ruby_run_node");
}

/* The code of the interpreter is that of the file in which rb_vm_exec() is. */
dtrace:helper:attach:
{
	this->files = "libruby*";
	text = minor < 31 ? 0 : secaddr(".text", this->files);
	if (minor >= 31 && (!text || exec - text >= secsize(".text", this->files))) {
		this->files = "ruby*";
		text = secaddr(".text", this->files);
	}
	text_end = text + secsize(".text", this->files);
	early = minor > 27 ? 0 : secaddr(".text", this->files);
	if (early && exec - early >= secsize(".text", this->files)) {
		this->files = "ruby*";
		early = secaddr(".text", this->files);
	}
	early_end = early ? early + secsize(".text", this->files) : 0;
	if (text && exec - text >= text_end - text) {
		text = secaddr(".text");
		text_end = text + secsize(".text");
	}
}

/*
 * rb_id2str() compares the id with the last operator's ("cmp $x,%rdi", or "cmp $x,%rax" behind
 * "mov %rdi,%rax") and ends with a jump to a function. One of both compares the id with the last
 * one of the table ("cmp x(%rip),%edi" or "cmp %edi,x(%rip)"), behind which lies the table's array
 * ("mov x(%rip),%rdi").
 */
dtrace:helper:attach:
{
	symbols = 0;
	this->id2str = symaddr("rb_id2str");
	this->compare = this->id2str ? ubytes(this->id2str, 24, "48 81 ff ?? ?? 00 00") : 0;
	/* behind the instruction, whose last four bytes are the id */
	this->compared = this->compare ? this->compare + 7 : 0;
	if (this->id2str && !this->compared) {
		this->compare = ubytes(this->id2str, 24, "48 3d ?? ?? 00 00");
		this->compared = this->compare ? this->compare + 6 : 0;
	}
	this->last = this->compared ? ubytes(this->compared, 24, "3b 3d ?? ?? ?? ??") : 0;
	this->jump = this->compared ?
	    ubytes(this->last ? this->last + 6 : this->compared, 17, "e9") : 0;
	if (this->jump) {
		last_operator = HALF[this->compared - 4];
		this->lookup = TARGET[this->jump + 1];
		if (!this->last)
			this->last = ubytes(this->lookup, 96, "39 3d ?? ?? ?? ??");
		if (!this->last)
			this->last = ubytes(this->lookup, 96, "3b 1d ?? ?? ?? ??");
		this->load = ubytes(this->lookup, 128, "48 8b 3d ?? ?? ?? ??");
		if (this->last && this->load &&
		    TARGET[this->last + 2] + 16 == TARGET[this->load + 3])
			symbols = TARGET[this->load + 3];
	}
}

dtrace:helper:uthread:
{
	this->hashed = (uint64_t)0;
	this->hash = (uint64_t)0;
	this->block = module ? TLS[module] : 0;
	/* all ones: a thread that has never run Ruby */
	this->context = !module ? WORD[variable] :
	    this->block && ~this->block ? WORD[this->block + variable] : 0;
	if (this->context) {
		this->frame = WORD[this->context + EC_CFP];
		/* the outermost control frame is a dummy */
		this->bottom = EC_STACK[this->context] + 8 * WORD[this->context + EC_STACK_SIZE] -
		    size;
		if (this->frame < EC_STACK[this->context] || this->frame & 7)
			this->frame = this->bottom;
	}
}

/*
 * Code of YJIT has no unwind table. It is called by the interpreter, and calls of Ruby methods in
 * it are jumps: the address that it returns to lies behind the registers that its entry has saved
 * and what the present call of C has pushed. From 3.2 on, the last of these registers is rbp. While
 * YJIT writes code, all its code is memory that cannot be executed: what returns there must follow
 * a call.
 */
dtrace:helper:ustack:
/text && this->context && (arg5 || arg6 && IS_CALL[arg0])/
{
	this->sp = (uint64_t)arg2;
	this->back = (uint64_t)0;
	while (!this->back && this->sp - arg2 < 128; 16) {
		this->word = WORD[this->sp];
		this->back = IN_TEXT[this->word] && IS_BACK[this->word] ? this->word : 0;
		this->sp += 8;
	}
	if (this->back)
		unwind(this->back, this->sp, arg1 == this->sp - 16 ? WORD[arg1] : arg1);
}

/*
 * In 3.1, code of YJIT makes a frame the current one and fills it then: such a frame is left out.
 * What makes it the current one is "mov %r13,16(%r12)" or "subq $64,16(%r12)"; "mov %rax,16(%r13)"
 * is the last store that counts in a frame of a Ruby method, and "mov %rax,32(%rcx)" in one of a C
 * method.
 */
dtrace:helper:ustack:
/arg3 == 0 && arg5 && text && size == 64 && this->frame < this->bottom/
{
	this->code = (uint64_t)arg0;
	this->word = (uint64_t)0;
	while (!this->word && this->code - arg0 < 64; 64) {
		this->word = (uint64_t)((WORD[this->code] & 0xffffffffff) == 0x10246c894d ||
			(WORD[this->code] & 0xffffffffffff) == 0x4010246c8349);
		if (HALF[this->code] == 0x10458949 || HALF[this->code] == 0x20418948) {
			this->frame += size;
			this->word = 1;
		}
		this->code++;
	}
}

/*
 * In 2.7, the interpreter itself does so, in all copies of vm_push_frame(): "lea -56(%old),%new",
 * "mov %new,16(%context)", then the members, of which "mov %env,-24(%old)" is the last one that
 * counts. The latter is found first, then what precedes it.
 */
dtrace:helper:ustack:
/arg3 == 0 && arg0 >= early && arg0 < early_end && this->frame < this->bottom/
{
	this->code = (uint64_t)arg0;
	while (this->code - arg0 < 104 && !IS_STORE[this->code, 0xe8]; 104)
		this->code++;
	if (this->code - arg0 < 104) {
		this->word = this->code - 104;
		while (this->word < this->code && !IS_STORE[this->word, 16]; 104)
			this->word++;
		this->code = this->word - 96;
		if (this->word < arg0) {
			while (this->code < this->word && ((SHORT[this->code] & 0xfff8) != 0x8d48 ||
			    BYTE[this->code + 3] != 0xc8 && SHORT[this->code + 3] != 0xc824); 96)
				this->code++;
			if (this->code < this->word)
				this->frame += size;
		}
	}
}

/* All frames that are left are those of what runs the whole program. */
dtrace:helper:ustack:
{
	this->is_all = (uint64_t)(main && arg0 > main && arg0 <= main_end);
	this->is_last = (uint64_t)!(this->is_all || arg0 >= exec && arg0 <= exec_end);
}

/*
 * A frame of Ruby that was just made has no native frame of its own yet: it belongs to the function
 * that is about to call rb_vm_exec(). Those that do follow rb_vm_exec() in memory.
 */
dtrace:helper:ustack:
/arg3 == 0 && this->frame < this->bottom && (arg0 - exec_end < 0x10000 || arg5)/
{
	this->env = WORD[this->frame + CFP_EP];
	this->iseq = WORD[this->frame + CFP_ISEQ];
	if (WORD[this->env] & FLAG_FINISH && ISIMEMO[this->iseq, IMEMO_ISEQ] &&
	    CFP_PC[this->frame] - WORD[WORD[this->iseq + ISEQ_BODY] + BODY_ENCODED] <= 128) {
		this->code = (uint64_t)arg0;
		this->is_last = (uint64_t)!LEADS[this->code];
		while (this->is_last && this->code - arg0 < 128; 128) {
			if ((BYTE[this->code] & 0xfe) == 0xe8) {
				this->target = this->code + 5 + INT[this->code + 1];
				this->is_last = (uint64_t)!(this->target == exec ||
					this->target - exec + 0x1000000 < 0x2000000 &&
					    LEADS[this->target]);
			}
			this->code++;
		}
	}
}

/* The method entry of a frame, or 0: of a block, it is that of the method around it. */
inline void find_method()
{
	this->entry = (uint64_t)0;
	this->word = this->env;
	while (this->word && !this->entry; 64) {
		this->entry = WORD[this->word - 16];
		if (WORD[this->word] & FLAG_LOCAL) {
			if (ISIMEMO[this->entry, IMEMO_SVAR])
				this->entry = WORD[this->entry + 8];
			this->word = (uint64_t)0;
		} else {
			this->word = WORD[this->word - 8] & ~3ull;
		}
		if (!ISIMEMO[this->entry, IMEMO_MENT])
			this->entry = (uint64_t)0;
	}
}

/* The name of the class of a method, or 0; "." follows it if the method is the class's own. */
inline void find_class()
{
	this->owner = this->entry ? WORD[this->entry + ME_OWNER] : 0;
	if (!ISCLASS[this->owner])
		this->owner = (uint64_t)0;
	this->is_own = (uint64_t)(this->owner && WORD[this->owner] & SINGLETON);
	if (this->is_own) {
		this->owner = WORD[this->owner + CLASS_ATTACHED];
		if (!ISCLASS[this->owner])
			this->owner = (uint64_t)0;
	}
	this->owner = this->owner && BYTE[this->owner + CLASS_IS_NAMED] & 1 ?
	    WORD[this->owner + CLASS_PATH] : 0;
	if (!ISSTRING[this->owner])
		this->owner = (uint64_t)0;
}

/*
 * What handles an exception, and an evaluated text, have the label of the sequence around them. If
 * it is part of a method, the label ends with the method's name, before which the class stands.
 */
inline void find_class_of_label()
{
	this->word = this->iseq;
	while (this->word; 64) {
		this->source = WORD[this->word + ISEQ_BODY];
		this->word = HANDLES[HALF[this->source]] || HALF[this->source] == TYPE_EVAL ?
		    WORD[this->source + BODY_PARENT] : 0;
	}
	this->label = WORD[this->source + BODY_LABEL];
	this->source = WORD[WORD[this->source + BODY_LOCAL] + ISEQ_BODY];
	if (HALF[this->source] == TYPE_METHOD && ISSTRING[this->label]) {
		this->source = WORD[this->source + BODY_LABEL];
		find_method();
		find_class();
		this->before = TEXT_SIZE[this->label] - TEXT_SIZE[this->source];
		if (TEXT_SIZE[this->label] < TEXT_SIZE[this->source] ||
		    uhash(TEXT_AT[this->label] + this->before, TEXT_SIZE[this->source]) !=
			TEXT_HASH[this->source])
			this->owner = (uint64_t)0;
	}
}

/* The name of a method in C: a string, or 0. */
inline void find_method_name()
{
	this->entry = WORD[this->env - 16];
	if (!ISIMEMO[this->entry, IMEMO_MENT])
		this->entry = (uint64_t)0;
	if (with_class)
		find_class();
	if (symbols && this->entry) {
		this->id = WORD[WORD[this->entry + ME_DEF] + DEF_ID];
		this->id = this->id > last_operator ? this->id >> 4 : this->id;
		this->array = WORD[symbols];
		if (ISARRAY[this->array] && this->id / IDS_AN_ARRAY < ARRAYLEN[this->array])
			this->array = WORD[ARRAYPTR[this->array] + 8 * (this->id / IDS_AN_ARRAY)];
		else
			this->array = (uint64_t)0;
		this->id = 2 * (this->id % IDS_AN_ARRAY);
		if (ISARRAY[this->array] && this->id < ARRAYLEN[this->array])
			this->label = WORD[ARRAYPTR[this->array] + 8 * this->id];
	}
}

/* The Ruby frame that has called a method in C, or the outermost frame of an rb_vm_exec(). */
inline void find_caller()
{
	this->caller_pc = (uint64_t)0;
	this->caller = this->frame + size;
	while (this->caller < this->bottom && !this->caller_pc; 64) {
		this->caller_iseq = WORD[this->caller + CFP_ISEQ];
		this->caller_pc = this->caller_iseq ? CFP_PC[this->caller] : 0;
		this->caller += size;
	}
	/* below the outermost Ruby frame of a fiber are C methods only */
	if (!this->caller_pc && this->caller >= this->bottom)
		this->is_last = (uint64_t)0;
	if (this->is_c) {
		this->pc = this->caller_pc;
		this->iseq = this->caller_iseq;
	}
}

/*
 * The number of the line entry of a position: how many bits are set up to there. The first 54 bits
 * are 6 words with 9 sums of 7 bits; then come blocks of 512 bits, of which each has the sum before
 * it, a word with sums of its words, of 9 bits, and the bits.
 */
inline void find_line_entry()
{
	this->ranks = WORD[this->body + nlines + 8];
	if (this->at < 54) {
		this->index = WORD[this->ranks + 8 * (this->at / 9)] >> 7 * (this->at % 9) & 127;
	} else {
		this->bit = this->at - 54;
		this->ranks += 48 + 80 * (this->bit / 512);
		this->word = this->bit % 512 / 64;
		this->index = HALF[this->ranks];
		this->index += this->word ? WORD[this->ranks + 8] >> 9 * (this->word - 1) & 511 : 0;
		this->index += upopcount(WORD[this->ranks + 16 + 8 * this->word] << 63 -
		    this->bit % 64);
	}
}

inline void find_line()
{
	/* the pc is that of the next instruction */
	this->encoded = WORD[this->body + BODY_ENCODED];
	this->at = (this->pc - this->encoded) / 8;
	this->at -= this->at > 0;
	this->count = HALF[this->body + nlines];
	this->index = 1;
	if (this->count != 1 && this->at < HALF[this->body + BODY_SIZE])
		find_line_entry();
	this->line = this->index && this->index <= this->count ?
	    INT[WORD[this->body + lines] + entry * (this->index - 1)] : this->first;
	/* before 3.1, instructions that do nothing have line 0 */
	if (!this->line && this->index > 1)
		this->line = INT[WORD[this->body + lines] + entry * (this->index - 2)];
}

/* a label without its first bytes */
inline string LABEL_REST[uint64_t o, uint64_t bytes] =
    ustr(TEXT_AT[o] + bytes, TEXT_SIZE[o] - bytes);

inline void show_frame()
{
	this->body = WORD[this->iseq + ISEQ_BODY];
	this->path = WORD[this->body + BODY_PATH];
	this->first = HALF[this->body + BODY_FIRST_LINE] >> !is_number;
	if (!this->is_c && with_class)
		find_class_of_label();
	else if (!this->is_c)
		this->label = WORD[this->body + BODY_LABEL];
	if (ISARRAY[this->path])
		this->path = WORD[ARRAYPTR[this->path]];
	find_line();
	/* strings are collected, and others come to lie there: the texts count, and no address */
	if (this->path != this->hashed) {
		this->hashed = this->path;
		this->hash = TEXT_HASH[this->path];
	}
	if (!ucached(this->hash, TEXT_HASH[this->label], this->line,
		this->owner ? TEXT_HASH[this->owner] ^ (this->before << 1 | this->is_own) : 0)) {
		if (ISSTRING[this->path] && ISSTRING[this->label] && this->owner)
			uframe("@", RSTRING[this->path], ":", this->line, " (",
			    ustr(TEXT_AT[this->label], this->before), RSTRING[this->owner],
			    this->is_own ? "." : "#", LABEL_REST[this->label, this->before], ")");
		else if (ISSTRING[this->path] && ISSTRING[this->label])
			uframe("@", RSTRING[this->path], ":", this->line, " (",
			    RSTRING[this->label], ")");
	}
}

/* Shows the frame this->frame, and goes on to the one that has called it. */
inline void show_next_frame()
{
	this->env = WORD[this->frame + CFP_EP];
	this->flags = WORD[this->env];
	this->is_last = this->is_all ? 0 : this->flags & FLAG_FINISH;
	this->label = (uint64_t)0;
	this->owner = (uint64_t)0;
	this->before = (uint64_t)0;
	this->pc = CFP_PC[this->frame];
	this->iseq = WORD[this->frame + CFP_ISEQ];
	this->is_c = !this->iseq && (this->flags & MAGIC_MASK) == MAGIC_CFUNC;
	if (this->is_c) {
		find_method_name();
		this->pc = (uint64_t)0;
	}
	if (this->is_c || this->is_last)
		find_caller();
	this->frame += size;
	/* C methods that no Ruby frame has called: the first ones of a fiber */
	if (this->is_c && !this->pc && ISSTRING[this->label]) {
		if (this->owner)
			uframe("@(", RSTRING[this->owner], this->is_own ? "." : "#",
			    RSTRING[this->label], ")");
		else
			uframe("@(", RSTRING[this->label], ")");
	}
	/* frames of blocks written in C have no pc */
	if (this->pc && ISIMEMO[this->iseq, IMEMO_ISEQ]) {
		if (this->is_c || !this->is_shown)
			show_frame();
		/* what handles an exception has shown the frame that comes next */
		if (!this->is_c)
			this->is_shown = (uint64_t)(with_class &&
			    HANDLES[HALF[WORD[this->iseq + ISEQ_BODY]]]);
	}
}

dtrace:helper:ustack:
/this->frame < this->bottom && !this->is_last/
{
	while (this->frame < this->bottom && !this->is_last; 65536)
		show_next_frame();
}
