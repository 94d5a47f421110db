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

table VERSIONS { /*        7.4  8.0  8.1  8.2  8.3  8.4  8.5 */
	uint64_t version  =   74,  80,  81,  82,  83,  84,  85;
	/* offsets in executor_globals: the innermost frame, the instruction that threw */
	uint64_t g_current =  488, 488, 488, 488, 488, 488, 512;
	uint64_t g_thrower =  880, 880, 880, 880, 880, 952, 976;
	string stored	  = "e8 01 00 00", "e8 01 00 00", "e8 01 00 00", "e8 01 00 00", "e8 01 00 00", "e8 01 00 00",
			    "00 02 00 00"; /* g_current as an instruction has it */
	/* in a function (zend_op_array): the file, the instructions, their number */
	uint64_t filename =  136, 144, 144, 152, 144, 168, 168;
	uint64_t opcodes  =   64,  72,  72,  88,  80, 104, 104;
	uint64_t last	  =   60,  68,  68,  80,  76,  96,  96;
	/* in a generator (zend_generator): its frame, the one that yields from it */
	uint64_t frame	  =   64,  56,  56,  56,  56,  56,  56;
	uint64_t parent	  =  160, 152, 152, 152, 152, 152, 152;
};

uint64_t run, run_end; /* execute_ex() */
uint64_t cold, cold_end; /* the part of it that the compiler has put elsewhere */
uint64_t current;      /* the address of the innermost frame's address */
uint64_t thrower;       /* the address of the instruction that threw */
uint64_t script, script_end; /* php_execute_script(), which runs the whole program */
/*
 * where a PHP frame is the current one, and its execute_ex() has not begun: in
 * zend_init_func_execute_data(), zend_call_function() and zend_generator_resume()
 */
uint64_t set, set_end, called, called_end, resumed, resumed_end;
/*
 * the frame of execute_ex(): bytes from its stack pointer to the end, or 0; where it keeps a copy
 * of the thread's random number, from its stack pointer or (is_framed) its frame pointer
 */
uint64_t body, canary, is_framed;
uint64_t back1, back2, back3, back4; /* the return addresses of execute_ex() */
/*
 * functions without unwind tables that make and switch stacks of fibers: where make_fcontext() has
 * made one; what jump_fcontext() takes from the stack pointer, where it has another stack, and
 * where its return address is in r8
 */
uint64_t make, made, make_end;
uint64_t jump, jump_end, jump_size, switched, popped;

/*
 * a frame (zend_execute_data): its position, function, object or generator, flags, the one that
 * called it
 */
inline int FRAME_FUNC = 24;
inline int FRAME_THIS = 32;
inline int FRAME_INFO = 40;
inline int FRAME_PREV = 48;
inline int INFO_TOP = 0x20000; /* of the flags: the frame was called from C */
inline int TYPE_OBJECT = 8; /* in their low byte: FRAME_THIS is one */
/* a function: its kind, name, class; a class has its name there, too */
inline int FUNC_NAME = 8;
inline int FUNC_CLASS = 16;
inline int CLASS_NAME = 8;
inline int INTERNAL = 1;
inline int USER = 2;
inline int EVAL_CODE = 4;
/* an instruction (zend_op): its size, operand, line, kind */
inline int OP_SIZE = 32;
inline int OP_EXTENDED = 20;
inline int OP_LINE = 24;
inline int OP_CODE = 28;
inline int INCLUDE_OR_EVAL = 73;
inline int HANDLE_EXCEPTION = 149;
/* a string: its length, its text */
inline int STRING_LENGTH = 16;
inline int STRING_TEXT = 24;

/* whether it returns from execute_ex() */
inline int ISBACK[uint64_t a] = a == back1 || a == back2 || a == back3 || a == back4;
inline string TEXT[uint64_t s] = ustr(s + STRING_TEXT, WORD[s + STRING_LENGTH]);
inline uint64_t TEXT_HASH[uint64_t s] = uhash(s + STRING_TEXT, WORD[s + STRING_LENGTH]);
/*
 * in attach clauses: behind the first instruction of a function that stores to an offset from a
 * register
 */
inline uint64_t STORE[uint64_t f, uint64_t size, string offset] =
    ubytes(f, size, strjoin("89 ?? ", offset)) ? ubytes(f, size, strjoin("89 ?? ", offset)) + 6 :
    ubytes(f, size, strjoin("89 ?? 24 ", offset)) ?
    ubytes(f, size, strjoin("89 ?? 24 ", offset)) + 7 : 0;

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
	this->dot = BYTE[this->text + 19] == '.' && BYTE[this->text + 21] == '.';
	if (!VERSIONS[this->dot ? (BYTE[this->text + 18] - '0') * 10 + BYTE[this->text + 20] - '0' :
	    0])
		udecline("this version of PHP is not known (7.4 to 8.5 are)");
	current = this->globals + g_current;
	thrower = this->globals + g_thrower;
	script = symaddr("php_execute_script");
	script_end = script + symsize("php_execute_script");
}

/* Where a frame is made the current one, and "call *(%rax)" of execute_ex() behind that. */
dtrace:helper:attach:
{
	this->init = symaddr("zend_init_func_execute_data");
	set = this->init ? STORE[this->init, symsize("zend_init_func_execute_data"), stored] : 0;
	set_end = set ? ubytes(set, 64, "c3") : 0;
	this->at = symaddr("zend_call_function");
	this->end = this->at + symsize("zend_call_function");
	called = 0;
	while (this->at && !called; 256) {
		this->at = ubytes(this->at, this->end - this->at, "e8");
		this->at = this->at ? this->at + 1 : 0;
		called = this->at && TARGET[this->at] == this->init ? this->at + 4 : 0;
	}
	called_end = called ? ubytes(called, 64, "ff 10") : 0;
	this->at = symaddr("zend_generator_resume");
	resumed = this->at ? STORE[this->at, symsize("zend_generator_resume"), stored] : 0;
	resumed_end = resumed ? ubytes(resumed, 256, "ff 10") : 0;

	back1 = called_end ? called_end + 2 : 0;
	back2 = resumed_end ? resumed_end + 2 : 0;
	back3 = back2 ? ubytes(back2, 256, "ff 10") + 2 : 0;
	back4 = symaddr("zend_execute") ?
	    ubytes(symaddr("zend_execute"), symsize("zend_execute"), "ff 10") + 2 : 0;
}

/*
 * Code of the JIT runs in the frame of execute_ex(): "push" four times, among which another
 * instruction may stand, "sub $N,%rsp", or "push %rbp; mov %rsp,%rbp"; "mov %rax,N(%rsp)", "mov
 * %rax,-N(%rbp)"
 */
dtrace:helper:attach:
{
	this->at = ubytes(run, 8, "41 55") ? ubytes(run, 24, "41 54 55 53 48 83 ec") : 0;
	this->store = this->at ? ubytes(this->at, 48, "48 89 44 24") : 0;
	body = this->store ? BYTE[this->at + 7] + 40 : 0;
	canary = this->store ? BYTE[this->store + 4] : 0;
	this->at = body ? 0 : ubytes(run, 16, "55 48 89 e5");
	this->store = this->at ? ubytes(this->at, 48, "48 89 45") : 0;
	is_framed = (uint64_t)(this->store != 0);
	if (is_framed)
		canary = (int64_t)*(int8_t *)(this->store + 3);
}

/* "lea -N(%rsp),%rsp"; "mov %rdi,%rsp"; "lea M(%rsp),%rsp" */
dtrace:helper:attach:
{
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

/* The part that is seldom executed: by its symbol, or by the jumps to it. */
dtrace:helper:attach:
{
	cold = pieceaddr("execute_ex", 1);
	cold_end = cold + piecesize("execute_ex", 1);
	this->hdr = secaddr(".eh_frame_hdr");
	if (!cold) {
		find_cold(this->hdr, run, run_end);
		cold = this->cold;
		cold_end = this->cold_end;
	}
}

dtrace:helper:uthread:
{
	this->frame = WORD[current];
	this->leaf = (uint64_t)0;
	this->hashed = (uint64_t)0;
	this->hash = (uint64_t)0;
}

/*
 * Which PHP frames follow: those that this execute_ex() runs, or one that will be run by the next
 * one. All that are left follow what runs the whole program, and code that has no unwind table, as
 * that of regular expressions: of the native frames behind it none may be found.
 */
dtrace:helper:ustack:
{
	this->is_last =
	    (uint64_t)!(arg0 >= run && arg0 <= run_end || arg0 > cold && arg0 <= cold_end);
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
 * Code of the JIT runs in the frame of an execute_ex(), some words below it: found by the random
 * number, which a thread has when it has a thread pointer, and by the return address.
 */
dtrace:helper:ustack:
/this->is_bare && arg4 && (body || is_framed) && (arg0 < make || arg0 > make_end)/
{
	this->random = WORD[arg4 + 40];
	this->sp = (uint64_t)arg2;
	this->end = (uint64_t)0;
	if (is_framed && arg1 - arg2 < 4096 && WORD[arg1 + canary] == this->random &&
	    ISBACK[WORD[arg1 + 8]])
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

/* A function of an extension. */
inline void show_internal()
{
	this->is_object = (this->info & 0xff) == TYPE_OBJECT;
	if (!ucached(TEXT_HASH[this->name], this->scope ?
		TEXT_HASH[WORD[this->scope + CLASS_NAME]] : 0, this->is_object, ~0ull)) {
		this->cls = this->scope ? strjoin(TEXT[WORD[this->scope + CLASS_NAME]],
			this->is_object ? "->" : "::") : "";
		uframe("@", "[internal function] (", this->cls, TEXT[this->name], ")");
	}
}

/* The position of a function of PHP, and so its line. */
inline void find_position()
{
	this->first = WORD[this->func + opcodes];
	this->size = OP_SIZE * (uint64_t)HALF[this->func + last];
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
	if (this->opline && BYTE[this->opline + OP_CODE] == HANDLE_EXCEPTION)
		this->opline = WORD[thrower];
}

/*
 * A generator that yields from another one is called by a frame without function, which has the
 * outermost generator. Those that lie between are known by their parents only: from the one that
 * runs to the outermost one. They have no native frames.
 */
inline void follow_generators()
{
	if (!this->leaf && this->frame && !this->outer &&
	    (HALF[this->frame + FRAME_INFO] & 0xff) == TYPE_OBJECT) {
		this->leaf = WORD[this->frame + FRAME_THIS];
		this->below = this->leaf;
		while (this->below && WORD[this->below + frame] != this->self; 64)
			this->below = WORD[this->below + parent];
		this->caller = WORD[this->frame + FRAME_PREV];
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

/*
 * The frame was called from C: is it the last one here? The end of a fiber's stack is marked by a
 * function without a name: the one that resumed it follows, its native frames are on another stack.
 */
inline void find_end()
{
	this->outer = this->frame ? WORD[this->frame + FRAME_FUNC] : 0;
	this->is_last = (uint64_t)!(this->is_all || this->outer &&
		BYTE[this->outer] == INTERNAL && !WORD[this->outer + FUNC_NAME]);
	follow_generators();
}

/* Code of a file has no name: what included it has the kind in its instruction. */
inline void find_kind()
{
	this->kind = 0;
	if (!this->name && this->frame) {
		this->outer = WORD[this->frame + FRAME_FUNC];
		this->at = this->outer && BYTE[this->outer] == USER ?
		    WORD[this->frame] : 0;
		this->kind = this->at && BYTE[this->at + OP_CODE] == INCLUDE_OR_EVAL ?
		    HALF[this->at + OP_EXTENDED] : 0;
	}
}

/*
 * Memory of functions and of texts is used again: the whole texts count, those of the file, the
 * class and the function, the kind and the line. Most frames have the file of the one before.
 */
inline void show_function()
{
	this->file = WORD[this->func + filename];
	this->line = this->opline ? HALF[this->opline + OP_LINE] : 0;
	if (this->file != this->hashed) {
		this->hashed = this->file;
		this->hash = TEXT_HASH[this->file];
	}
	this->is_object = (this->info & 0xff) == TYPE_OBJECT;
	if (!ucached(this->hash, this->name ? TEXT_HASH[this->name] : this->kind,
		this->scope ? TEXT_HASH[WORD[this->scope + CLASS_NAME]] : 0,
		(uint64_t)this->line << 1 ^ this->is_object)) {
		this->cls = this->scope ? strjoin(TEXT[WORD[this->scope + CLASS_NAME]],
			this->is_object ? "->" : "::") : "";
		this->label = this->name ? TEXT[this->name] : this->kind == 1 ? "eval" :
		    this->kind == 2 ? "include" : this->kind == 4 ? "include_once" :
		    this->kind == 8 ? "require" : this->kind == 16 ? "require_once" : "{main}";
		uframe("@", TEXT[this->file], ":", this->line, " (", this->cls, this->label, ")");
	}
}

/* Shows the frame this->frame, and goes on to the one that has called it. */
inline void show_next_frame()
{
	this->self = this->frame;
	this->func = WORD[this->self + FRAME_FUNC];
	this->opline = WORD[this->self];
	this->info = HALF[this->self + FRAME_INFO];
	this->frame = WORD[this->self + FRAME_PREV];
	this->type = this->func ? BYTE[this->func] : 0;
	this->name = this->type ? WORD[this->func + FUNC_NAME] : 0;
	this->scope = this->name ? WORD[this->func + FUNC_CLASS] : 0;
	if (this->type == INTERNAL && this->name)
		show_internal();
	if (this->type == USER || this->type == EVAL_CODE) {
		find_position();
		if (this->info & INFO_TOP)
			find_end();
		find_kind();
		show_function();
	}
}

dtrace:helper:ustack:
/this->frame && !this->is_last/
{
	while (this->frame && !this->is_last; 65536)
		show_next_frame();
}
