/* SPDX-License-Identifier: MIT */
/*
 * PHP 7.4 to 8.5: frames of PHP functions, as "file.php:49 (Class->method)".
 *
 * One native frame of execute_ex() stands for several PHP frames: those up to and including the
 * first function of PHP code that is marked as called from C. Functions of extensions ("internal"
 * ones) have a PHP frame, too; they stand before the frame of their caller.
 *
 * Offsets: Zend/zend_globals.h, Zend/zend_compile.h, Zend/zend_types.h, Zend/zend.h.
 */
#pragma D helper exec "php|php7*|php8*|php-fpm*|php-cgi*|libphp*.so*"
#pragma D helper symbol "execute_ex"

uint64_t run, run_end; /* execute_ex() */
uint64_t cold, cold_end; /* the part of it that the compiler has put elsewhere */
uint64_t current;      /* the address of the innermost frame's address */
uint64_t filename;     /* offset in op_array */
uint64_t opcodes, last; /* the same */
uint64_t frame, parent; /* offsets in zend_generator */
uint64_t thrower;       /* the address of the instruction that threw */
uint64_t script, script_end; /* php_execute_script(), which runs the whole program */
/* where a PHP frame is the current one, and its execute_ex() has not begun: in zend_init_func_execute_data(),
 * zend_call_function() and zend_generator_resume() */
uint64_t set, set_end, called, called_end, resumed, resumed_end;
/* functions without unwind tables that make and switch stacks of fibers: where the first has made one; what
 * jump_fcontext() takes from the stack pointer, where it has another stack, and where its return address is in r8 */
/* the frame of execute_ex(): bytes from its stack pointer to the end, or 0; where it keeps a copy of the thread's
 * random number, from its stack pointer or (is_framed) its frame pointer */
uint64_t body, canary, is_framed;
uint64_t back1, back2, back3, back4; /* the return addresses of execute_ex() */
uint64_t make, made, make_end, jump, jump_end, jump_size, switched, popped;

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
inline uint8_t BYTE[uint64_t a] = *(uint8_t *)a;
/* whether it returns from execute_ex() */
inline int ISBACK[uint64_t a] = a == back1 || a == back2 || a == back3 || a == back4;
inline string TEXT[uint64_t s] = ustr(s + 24, WORD[s + 16]);
/* in attach clauses: the entry of the table of functions that has an address, its start and end */
inline uint64_t UNWIND[uint64_t h, uint64_t a] =
    h + *(int *)(h + 16 + 8 * ubsearch(h + 12, HALF[h + 8], 8, 4, (uint32_t)(a - h)));
inline uint64_t START[uint64_t e] = e + 8 + *(int *)(e + 8);
/* in attach clauses: behind the first instruction of a function that stores to an offset from a register */
inline uint64_t STORE[uint64_t f, uint64_t size, string offset] =
    ubytes(f, size, strjoin("89 ?? ", offset)) ? ubytes(f, size, strjoin("89 ?? ", offset)) + 6 :
    ubytes(f, size, strjoin("89 ?? 24 ", offset)) ? ubytes(f, size, strjoin("89 ?? 24 ", offset)) + 7 : 0;

dtrace:helper:attach:
{
	this->globals = symaddr("executor_globals");
	run = symaddr("execute_ex");
	run_end = run + symsize("execute_ex");
	if (!run)
		udecline("the symbol execute_ex is missing");
	if (!this->globals)
		udecline("a PHP with threads (ZTS) keeps its frames elsewhere");
	/* "X-Powered-By: PHP/8.2" */
	this->text = ubytes(secaddr(".rodata"), secsize(".rodata"),
	    "58 2d 50 6f 77 65 72 65 64 2d 42 79 3a 20 50 48 50 2f");
	if (!this->text)
		udecline("the text that has the version of PHP is missing");
	this->dot = *(uint8_t *)(this->text + 19) == '.' && *(uint8_t *)(this->text + 21) == '.';
	this->version = this->dot ? (*(uint8_t *)(this->text + 18) - '0') * 10 +
		*(uint8_t *)(this->text + 20) - '0' : 0;
	if (this->version < 74 || this->version > 85 || (this->version > 74 && this->version < 80))
		udecline("this version of PHP is not known (7.4 to 8.5 are)");
	current = this->globals + (this->version == 85 ? 512 : 488);
	thrower = this->globals + (this->version < 84 ? 880 : this->version == 84 ? 952 : 976);
	filename = this->version == 74 ? 136 : this->version >= 84 ? 168 :
	    this->version == 82 ? 152 : 144;
	opcodes = this->version == 74 ? 64 : this->version < 82 ? 72 : this->version == 82 ? 88 :
	    this->version == 83 ? 80 : 104;
	last = opcodes - (this->version == 82 || this->version > 83 ? 8 : 4);
	frame = this->version == 74 ? 64 : 56;
	parent = frame + 96;
	script = symaddr("php_execute_script");
	script_end = script + symsize("php_execute_script");

	this->init = symaddr("zend_init_func_execute_data");
	set = this->init ? STORE[this->init, symsize("zend_init_func_execute_data"),
	    this->version == 85 ? "00 02 00 00" : "e8 01 00 00"] : 0;
	set_end = set ? ubytes(set, 64, "c3") : 0;
	this->at = symaddr("zend_call_function");
	this->end = this->at + symsize("zend_call_function");
	called = 0;
	while (this->at && !called; 256) {
		this->at = ubytes(this->at, this->end - this->at, "e8");
		this->at = this->at ? this->at + 1 : 0;
		called = this->at && this->at + 4 + *(int *)this->at == this->init ? this->at + 4 : 0;
	}
	called_end = called ? ubytes(called, 64, "ff 10") : 0;
	this->at = symaddr("zend_generator_resume");
	resumed = this->at ? STORE[this->at, symsize("zend_generator_resume"),
	    this->version == 85 ? "00 02 00 00" : "e8 01 00 00"] : 0;
	resumed_end = resumed ? ubytes(resumed, 256, "ff 10") : 0;

	back1 = called_end ? called_end + 2 : 0;
	back2 = resumed_end ? resumed_end + 2 : 0;
	back3 = back2 ? ubytes(back2, 256, "ff 10") + 2 : 0;
	back4 = symaddr("zend_execute") ? ubytes(symaddr("zend_execute"), symsize("zend_execute"), "ff 10") + 2 : 0;
	/* code of the JIT runs in the frame of execute_ex(): "push" four times, among which another instruction
	   may stand, "sub $N,%rsp", or "push %rbp; mov %rsp,%rbp"; "mov %rax,N(%rsp)", "mov %rax,-N(%rbp)" */
	this->at = ubytes(run, 8, "41 55") ? ubytes(run, 24, "41 54 55 53 48 83 ec") : 0;
	this->store = this->at ? ubytes(this->at, 48, "48 89 44 24") : 0;
	body = this->store ? BYTE[this->at + 7] + 40 : 0;
	canary = this->store ? BYTE[this->store + 4] : 0;
	this->at = body ? 0 : ubytes(run, 16, "55 48 89 e5");
	this->store = this->at ? ubytes(this->at, 48, "48 89 45") : 0;
	is_framed = (uint64_t)(this->store != 0);
	if (is_framed)
		canary = (int64_t)*(int8_t *)(this->store + 3);

	/* "lea -N(%rsp),%rsp"; "mov %rdi,%rsp"; "lea M(%rsp),%rsp" */
	make = symaddr("make_fcontext");
	make_end = make ? ubytes(make, 96, "f4") : 0;
	made = make ? ubytes(make, 96, "c3") : 0;
	jump = symaddr("jump_fcontext");
	jump += jump && HALF[jump] == 0xfa1e0ff3 ? 4 : 0; /* "endbr64" */
	if (make && (!make_end || !made || !jump || HALF[jump] != 0x24648d48))
		make = jump = 0;
	jump_size = jump ? -(int64_t)*(int8_t *)(jump + 4) : 0;
	switched = jump ? ubytes(jump, 96, "48 89 fc") + 3 : 0;
	popped = jump ? ubytes(switched, 96, "48 8d 64 24") + 5 : 0;
	jump_end = jump ? ubytes(popped, 32, "41 ff e0") : 0;
}

/* The part that is seldom executed: by its symbol, or where two conditional jumps out of the function lead to, not to its beginning. */
dtrace:helper:attach:
{
	cold = pieceaddr("execute_ex", 1);
	cold_end = cold + piecesize("execute_ex", 1);
	this->hdr = secaddr(".eh_frame_hdr");
	this->at = !cold && this->hdr && HALF[this->hdr] == 0x3b031b01 ? run : 0;
	this->seen = (uint64_t)0;
	while (this->at && !cold; 4096) {
		this->at = ubytes(this->at, run_end - this->at, "0f 84");
		this->to = this->at ? this->at + 6 + *(int *)(this->at + 2) : 0;
		this->at = this->at ? this->at + 1 : 0;
		if (this->to && (this->to < run || this->to >= run_end) &&
		    this->to - run + 0x1000000 < 0x2000000) {
			this->entry = UNWIND[this->hdr, this->to];
			this->start = START[this->entry];
			if (this->to >= this->start && this->to < this->start + HALF[this->entry + 12]) {
				if (this->start == this->seen) {
					cold = this->start;
					cold_end = cold + HALF[this->entry + 12];
				}
				this->seen = this->start;
			}
		}
	}
}

dtrace:helper:uthread:
{
	this->frame = WORD[current];
	this->leaf = (uint64_t)0;
}

/*
 * Which PHP frames follow: those that this execute_ex() runs, or one that will be run by the next one.
 * All that are left follow what runs the whole program, and code that has no unwind table, as that
 * of regular expressions: of the native frames behind it none may be found.
 */
dtrace:helper:ustack:
{
	this->is_last = (uint64_t)!(arg0 >= run && arg0 <= run_end || arg0 > cold && arg0 <= cold_end);
	if (arg3 == 0 && (arg0 >= set && arg0 <= set_end || arg0 >= called && arg0 <= called_end ||
	    arg0 >= resumed && arg0 <= resumed_end))
		this->is_last = (uint64_t)0;
	this->is_all = (uint64_t)0;
	this->is_bare = (uint64_t)arg5;
}

/* What begins the stack of a fiber is the end of it. */
dtrace:helper:ustack:
/make && arg0 >= make && arg0 <= make_end/
{
	this->is_bare = (uint64_t)(arg3 > 0);
	if (arg3 == 0 && arg0 <= made)
		unwind(WORD[arg2], arg2 + 8, arg1);
	else
		unwind(0, 0, 0);
}

dtrace:helper:ustack:
/arg3 == 0 && jump && arg0 >= jump && arg0 <= jump_end/
{
	this->is_bare = (uint64_t)0;
	this->sp = arg2 + (arg0 == jump || arg0 >= popped ? 0 : jump_size);
	if (arg0 >= popped)
		unwind(uregs[R_R8], this->sp, arg1);
	else
		unwind(WORD[this->sp], this->sp + 8, arg0 >= switched ? WORD[this->sp - 8] : arg1);
}

/*
 * Code of the JIT runs in the frame of an execute_ex(), some words below it: found by the random number, and by
 * the return address.
 */
dtrace:helper:ustack:
/this->is_bare && (body || is_framed) && (arg0 < make || arg0 > make_end)/
{
	this->random = WORD[arg4 + 40];
	this->sp = (uint64_t)arg2;
	this->end = (uint64_t)0;
	if (is_framed && arg1 - arg2 < 4096 && WORD[arg1 + canary] == this->random && ISBACK[WORD[arg1 + 8]])
		this->end = (uint64_t)arg1 + 16;
	while (body && !this->end && this->sp - arg2 < 128; 16) {
		if (WORD[this->sp + canary] == this->random && ISBACK[WORD[this->sp + body - 8]])
			this->end = this->sp + body;
		this->sp += 8;
	}
	if (this->end) {
		this->is_bare = (uint64_t)0;
		this->is_last = (uint64_t)0;
		unwind(WORD[this->end - 8], this->end, WORD[this->end - (is_framed ? 16 : 32)]);
	}
}

dtrace:helper:ustack:
/this->frame && (this->is_bare || arg0 > script && arg0 <= script_end)/
{
	this->is_last = (uint64_t)0;
	this->is_all = (uint64_t)1;
}

dtrace:helper:ustack:
/this->frame && !this->is_last/
{
	while (this->frame && !this->is_last; 65536) {
		this->self = this->frame;
		this->func = WORD[this->self + 24];
		this->opline = WORD[this->self];
		this->info = HALF[this->self + 40];
		this->frame = WORD[this->self + 48];
		this->type = this->func ? *(uint8_t *)this->func : 0;
		this->name = this->type ? WORD[this->func + 8] : 0;
		this->scope = this->name ? WORD[this->func + 16] : 0;
		if (this->type == 1 && this->name) {
			this->is_object = (this->info & 0xff) == 8;
			if (!ucached(this->func, this->name, this->is_object)) {
				this->cls = this->scope ? strjoin(TEXT[WORD[this->scope + 8]],
					this->is_object ? "->" : "::") : "";
				uframe("@", "[internal function] (", this->cls, TEXT[this->name], ")");
			}
		}
		if (this->type == 2 || this->type == 4) {
			this->first = WORD[this->func + opcodes];
			this->size = 32 * (uint64_t)HALF[this->func + last];
			/* the interrupted function has its position in a register */
			if (arg3 == 0 && this->self == uregs[R_R14] && uregs[R_R15] - this->first < this->size)
				this->opline = uregs[R_R15];
			/*
			 * A frame has no position until the function saves one for the first time: what was
			 * in its memory before is not shown, but where the function begins. While an
			 * exception is thrown, the instruction is one of the globals, without a line.
			 */
			if (this->first && this->opline - this->first >= this->size &&
			    this->opline - current >= 4096)
				this->opline = this->first;
			if (this->opline && *(uint8_t *)(this->opline + 28) == 149)
				this->opline = WORD[thrower];

			if (this->info & 0x20000) {
				/* the end of a fiber's stack is marked by a function without a name: the
				 * one that resumed it follows, its native frames are on another stack */
				this->outer = this->frame ? WORD[this->frame + 24] : 0;
				this->is_last = (uint64_t)!(this->is_all || this->outer &&
					*(uint8_t *)this->outer == 1 && !WORD[this->outer + 8]);
				/* A generator that yields from another one is called by a frame without
				 * function, which has the outermost generator. Those that lie between are
				 * known by their parents only: from the one that runs to the outermost
				 * one. They have no native frames. */
				if (!this->leaf && this->frame && !this->outer &&
				    (HALF[this->frame + 40] & 0xff) == 8) {
					this->leaf = WORD[this->frame + 32];
					this->below = this->leaf;
					while (this->below && WORD[this->below + frame] != this->self; 64)
						this->below = WORD[this->below + parent];
					this->caller = WORD[this->frame + 48];
					this->leaf = this->below ? this->leaf : 0;
				}
				if (this->leaf && this->below == this->leaf) {
					this->frame = this->caller;
					this->leaf = 0;
				} else if (this->leaf) {
					this->above = this->leaf;
					while (WORD[this->above + parent] != this->below; 64)
						this->above = WORD[this->above + parent];
					this->below = this->above;
					this->frame = WORD[this->above + frame];
					this->is_last = (uint64_t)0;
				}
			}

			/* code of a file has no name: what included it has the kind in its instruction */
			this->kind = 0;
			if (!this->name && this->frame) {
				this->outer = WORD[this->frame + 24];
				this->at = this->outer && *(uint8_t *)this->outer == 2 ?
				    WORD[this->frame] : 0;
				this->kind = this->at && *(uint8_t *)(this->at + 28) == 73 ?
				    HALF[this->at + 20] : 0;
			}
			/* Memory of functions is used again. The texts that lie there are told apart by
			 * the file's hash, which is 0 where PHP has not computed it, the class's hash, and
			 * the end of the function's name. */
			this->file = WORD[this->func + filename];
			this->line = this->opline ? HALF[this->opline + 24] : 0;
			this->hash = WORD[this->file + 8];
			this->is_object = (this->info & 0xff) == 8;
			this->mark = this->name ? WORD[this->name + 16 + WORD[this->name + 16]] : this->kind;
			if (this->scope)
				this->mark = this->mark ^ WORD[WORD[this->scope + 8] + 8] << 1;
			if (!this->hash || !ucached(this->func ^ this->hash, this->opline ^ this->mark,
				this->name ^ (uint64_t)this->line << 40 ^ this->is_object)) {
				this->cls = this->scope ? strjoin(TEXT[WORD[this->scope + 8]],
					this->is_object ? "->" : "::") : "";
				this->label = this->name ? TEXT[this->name] : this->kind == 1 ? "eval" :
				    this->kind == 2 ? "include" : this->kind == 4 ? "include_once" :
				    this->kind == 8 ? "require" : this->kind == 16 ? "require_once" : "{main}";
				uframe("@", TEXT[this->file], ":", this->line, " (", this->cls, this->label, ")");
			}
		}
	}
}
