/*
 * PHP 7.4 and 8.1 to 8.5: frames of PHP functions, as "file.php:49 (Class->method)".
 *
 * One native frame of execute_ex() stands for several PHP frames: those up to and including the
 * first function of PHP code that is marked as called from C. Functions of extensions ("internal"
 * ones) have a PHP frame, too; they stand before the frame of their caller.
 *
 * Offsets: Zend/zend_globals.h, Zend/zend_compile.h, Zend/zend_types.h, Zend/zend.h.
 */
#pragma D helper exec "php|php7*|php8*|php-fpm*|php-cgi*|libphp*.so*"

uint64_t run, run_end; /* execute_ex() */
uint64_t current;      /* the address of the innermost frame's address */
uint64_t filename;     /* offset in op_array */
uint64_t opcodes, last; /* the same */
uint64_t frame, parent; /* offsets in zend_generator */
uint64_t thrower;       /* the address of the instruction that threw */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
inline string TEXT[uint64_t s] = ustr(s + 24, WORD[s + 16]);

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
	if (this->version < 74 || this->version > 85 || (this->version > 74 && this->version < 81))
		udecline("this version of PHP is not known (7.4 and 8.1 to 8.5 are)");
	current = this->globals + (this->version == 85 ? 512 : 488);
	thrower = this->globals + (this->version < 84 ? 880 : this->version == 84 ? 952 : 976);
	filename = this->version == 74 ? 136 : this->version >= 84 ? 168 :
	    this->version == 82 ? 152 : 144;
	opcodes = this->version == 74 ? 64 : this->version == 81 ? 72 : this->version == 82 ? 88 :
	    this->version == 83 ? 80 : 104;
	last = opcodes - (this->version == 82 || this->version > 83 ? 8 : 4);
	frame = this->version == 74 ? 64 : 56;
	parent = frame + 96;
}

dtrace:helper:uthread:
{
	this->frame = WORD[current];
	this->leaf = (uint64_t)0;
}

dtrace:helper:ustack:
/this->frame && arg0 >= run && arg0 <= run_end/
{
	this->is_last = 0;
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
				this->is_last = !(this->outer && *(uint8_t *)this->outer == 1 &&
					!WORD[this->outer + 8]);
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
					this->is_last = 0;
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
