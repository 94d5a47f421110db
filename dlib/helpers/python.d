/* SPDX-License-Identifier: MIT */
/*
 * CPython 3.8 to 3.13: frames of Python functions, as "file.py:49 (function)".
 *
 * From 3.11 on, a call of one Python function by another does not recurse in C, so one native frame
 * of _PyEval_EvalFrameDefault() stands for several Python frames: in 3.11 those up to and including
 * the first one that is marked as an entry, later those up to a frame that belongs to C. Before,
 * each stands for one. The thread state is found as the interpreter finds it, in a thread-specific
 * value of the C library.
 *
 * Offsets: CPython Include/internal/pycore_{frame,runtime}.h, Include/cpython/{pystate,code,unicodeobject}.h,
 * Objects/{locations.md,lnotab_notes.txt}.
 */
#pragma D helper exec "python3*|libpython3*"
#pragma D helper symbol "_PyEval_EvalFrameDefault"

uint64_t eval, eval_end; /* the interpreter loop */
uint64_t cold, cold_end; /* the part of it that the compiler has put elsewhere */
uint64_t key;		 /* the address of the key of the thread state */
uint64_t specific;	 /* where struct pthread has the values, from the thread's own address */
uint64_t minor;
uint64_t t_frame, c_frame;	 /* offsets: the thread's current frame, or 0 and that of a pointer to it */
uint64_t f_code, f_back, f_last, f_owner;
uint64_t c_first, c_file, c_name, c_lines, c_start;
uint64_t ascii, compact; /* where the text of a str object is */
uint64_t heads;		   /* where the runtime has its list of interpreters */
uint64_t i_next, i_threads, t_id; /* offsets: the next interpreter, its first thread; a thread's pthread_self() */
uint64_t entered, current; /* in 3.11: the thread has its new _PyCFrame, which has no frame yet */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
inline uint64_t PYLEN[uint64_t o] = WORD[o + 16];
inline uint32_t PYSTATE[uint64_t o] = *(uint32_t *)(o + 32);
/* the text of a str object: ASCII, or characters of 1, 2 or 4 bytes */
inline string PYSTR[uint64_t o] = PYSTATE[o] & 0x40 ? ustr(o + ascii, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 1 ? ulatin1(o + compact, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 2 ? utf16(o + compact, PYLEN[o]) : utf32(o + compact, PYLEN[o]);
/* in attach clauses: the entry of the table of functions that has an address, its start and end */
inline uint64_t UNWIND[uint64_t h, uint64_t a] =
    h + *(int *)(h + 16 + 8 * ubsearch(h + 12, HALF[h + 8], 8, 4, (uint32_t)(a - h)));
inline uint64_t START[uint64_t e] = e + 8 + *(int *)(e + 8);

dtrace:helper:attach:
{
	this->version = symaddr("Py_Version");
	/* up to 3.10, the name of the file has the version */
	this->program = objname("*python3.*");
	this->dot = index(this->program, "python3.");
	minor = this->version ? *(uint32_t *)this->version >> 16 & 0xff :
	    this->dot >= 0 ? strtoll(substr(this->program, this->dot + 8)) : 0;
	if (this->version && *(uint32_t *)this->version >> 24 != 3)
		minor = 0;
	/* a linker that has the whole program before it (-flto) leaves the variable out, but not the text, such as "3.11.2" */
	this->searched = !this->version && !minor;
	this->at = this->searched ? secaddr(".rodata") : 0;
	this->end = this->at + secsize(".rodata");
	this->texts = 0;
	while (this->at && this->at < this->end; 32) {
		this->bytes = this->end - this->at < 0x100000 ? this->end - this->at : 0x100000;
		this->found = (ubytes(this->at, this->bytes, "33 2e 31 31 2e ?? 00") ||
		    ubytes(this->at, this->bytes, "33 2e 31 31 2e ?? ?? 00") ? 2 : 0) |
		    (ubytes(this->at, this->bytes, "33 2e 31 32 2e ?? 00") ||
		    ubytes(this->at, this->bytes, "33 2e 31 32 2e ?? ?? 00") ? 4 : 0) |
		    (ubytes(this->at, this->bytes, "33 2e 31 33 2e ?? 00") ||
		    ubytes(this->at, this->bytes, "33 2e 31 33 2e ?? ?? 00") ? 8 : 0);
		this->texts |= this->found;
		this->at += this->bytes < 0x100000 ? this->bytes : 0x100000 - 16;
	}
	/* of two, one is that of something else */
	if (this->searched)
		minor = this->texts == 2 ? 11 : this->texts == 4 ? 12 : this->texts == 8 ? 13 : 0;
	if (minor < 8 || minor > 13 || (minor < 11 && this->version) || (minor > 10 && !this->version && !this->searched))
		udecline("this version of CPython is not known (3.8 to 3.13 are)");
	this->files = symaddr("_PyEval_EvalFrameDefault", "libpython3*") ? "libpython3*" :
	    symaddr("_PyEval_EvalFrameDefault", "python3*") ? "python3*" : "*";
	eval = symaddr("_PyEval_EvalFrameDefault", this->files);
	eval_end = eval + symsize("_PyEval_EvalFrameDefault", this->files);
	this->runtime = symaddr("_PyRuntime", this->files);
	this->layout = symaddr("_thread_db_pthread_specific", "libc.so*");
	if (!this->layout)
		this->layout = symaddr("_thread_db_pthread_specific", "libpthread*.so*");
	if (!this->layout) /* the C library is part of the program */
		this->layout = symaddr("_thread_db_pthread_specific", "*");
	if (!eval || !this->layout || !this->runtime)
		udecline("a symbol is missing");
	/* the values of the first 32 keys are part of struct pthread, the pointers to all follow them */
	specific = *(uint32_t *)(this->layout + 8) - 512 + 8;
	key = this->runtime + (minor == 8 ? 1396 : minor < 11 ? 588 : minor == 11 ? 596 :
	    minor == 12 ? 1548 : 2164);
	/* 3.13 describes itself */
	heads = this->runtime + (minor < 11 ? 32 : minor < 13 ? 40 : WORD[this->runtime + 40]);
	i_next = minor < 13 ? 0 : WORD[this->runtime + 64];
	i_threads = minor < 11 ? 8 : minor == 11 ? 16 : minor == 12 ? 72 : WORD[this->runtime + 72];
	t_id = minor < 11 ? 176 : minor == 11 ? 152 : minor == 12 ? 136 : WORD[this->runtime + 192];
	t_frame = minor < 11 ? 24 : minor < 13 ? 56 : 72;
	c_frame = minor == 11 ? 8 : 0;
	f_code = minor < 12 ? 32 : 0;
	f_back = minor < 11 ? 24 : minor == 11 ? 48 : 8;
	f_last = minor < 10 ? 104 : minor == 10 ? 96 : 56;
	f_owner = minor == 11 ? 68 : 70;
	c_first = minor < 11 ? 40 : minor == 11 ? 72 : 68;
	c_file = minor < 11 ? 104 : 112;
	c_name = c_file + 8;
	c_lines = minor < 11 ? 120 : 136;
	c_start = minor == 11 ? 184 : minor == 12 ? 192 : 200;
	ascii = minor < 12 ? 48 : 40;
	compact = minor < 12 ? 72 : 56;
}

/*
 * 3.11: tstate->cframe = &cframe, and a few instructions later cframe.current_frame = frame, together with the
 * field that follows. In between, current_frame is what was on the stack before.
 */
dtrace:helper:attach:
{
	entered = minor == 11 ? ubytes(eval, 512, "48 89 ?? 38") : 0;
	current = entered ? ubytes(entered, 64, "0f 11 ?? 24") : 0;
}

/* The cold part: by its symbol, or where two conditional jumps out of the function lead to, not to its beginning. */
dtrace:helper:attach:
{
	this->hdr = secaddr(".eh_frame_hdr", this->files);
	cold = pieceaddr("_PyEval_EvalFrameDefault", 1, this->files);
	cold_end = cold + piecesize("_PyEval_EvalFrameDefault", 1, this->files);
	this->at = !cold && this->hdr && HALF[this->hdr] == 0x3b031b01 ? eval : 0;
	this->seen = (uint64_t)0;
	while (this->at && !cold; 4096) {
		this->at = ubytes(this->at, eval_end - this->at, "0f 84");
		this->to = this->at ? this->at + 6 + *(int *)(this->at + 2) : 0;
		this->at = this->at ? this->at + 1 : 0;
		if (this->to && (this->to < eval || this->to >= eval_end) &&
		    this->to - eval + 0x1000000 < 0x2000000) {
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
	this->number = HALF[key];
	this->thread = this->number < 32 ? WORD[WORD[arg4 + 16] + specific + 16 * this->number] : 0;
	this->frame = this->thread ? WORD[this->thread + t_frame] : 0;
	if (this->frame && t_frame == 56)
		this->frame = arg0 > entered && arg0 <= current ? 0 : WORD[this->frame + c_frame];
	/* several interpreters: see below */
	this->many = !(arg0 > entered && arg0 <= current) ? *(int64_t *)(heads + 16) > 1 : 0;
	this->lowest = (uint64_t)0;
	if (this->many)
		this->frame = (uint64_t)0;
	this->hashed = (uint64_t)0;
	this->hash = (uint64_t)0;
}

/*
 * There is, or was, more than one interpreter (each application of mod_wsgi has its own). The thread has a state for each
 * interpreter that it has been in; the specific value is only one of them. The frames of that which has entered the
 * interpreter loop lowest in the stack are the innermost ones, and so on. Where that was, is known by something of each
 * state that lies in the stack: in 3.11 and 3.12 its _PyCFrame, in 3.13 the frame that belongs to C. Before, it is the
 * pointer to its innermost frame, which the loop's caller keeps because it releases the frame.
 */
dtrace:helper:ustack:
/this->many && !this->frame && (arg0 >= eval && arg0 <= eval_end || arg0 > cold && arg0 <= cold_end)/
{
	this->interpreter = WORD[heads];
	this->next = (uint64_t)0;
	while (this->interpreter; 32) {
		this->thread = WORD[this->interpreter + i_threads];
		while (this->thread; 256) {
			this->top = WORD[this->thread + t_id] == arg4 ? WORD[this->thread + t_frame] : 0;
			this->at = this->top;
			if (this->top && t_frame == 56)
				this->top = WORD[this->at + c_frame];
			while (this->at && minor == 13 && *(uint8_t *)(this->at + f_owner) < 3; 1024)
				this->at = WORD[this->at + f_back];
			if (this->top && minor < 11) {
				this->at = (uint64_t)arg2;
				while (WORD[this->at] != this->top && this->at - arg2 < 2048; 256)
					this->at += 8;
				this->at = WORD[this->at] == this->top ? this->at : 0;
			}
			if (this->top && this->at > this->lowest && (!this->next || this->at < this->next)) {
				this->next = this->at;
				this->frame = this->top;
			}
			this->thread = WORD[this->thread + 8];
		}
		this->interpreter = WORD[this->interpreter + i_next];
	}
	this->lowest = this->next;
	this->many = this->next != 0;
}

dtrace:helper:ustack:
/this->frame && (arg0 >= eval && arg0 <= eval_end || arg0 > cold && arg0 <= cold_end)/
{
	this->is_last = 0;
	while (this->frame && !this->is_last; 65536) {
		this->owner = *(uint8_t *)(this->frame + f_owner);
		this->is_last = minor < 11 ? 1 : minor == 11 ? this->owner : this->owner >= 3;
		this->code = minor > 11 && this->is_last ? 0 : WORD[this->frame + f_code];
		this->instr = minor > 10 ? WORD[this->frame + f_last] : HALF[this->frame + f_last];
		this->frame = WORD[this->frame + f_back];
		this->first = 0;
		if (this->code) {
			this->first = *(int *)(this->code + c_first);
			this->name = WORD[this->code + c_name];
			this->file = WORD[this->code + c_file];
			this->table = WORD[this->code + c_lines];
			/* other code may lie where some was before: the texts count; names know their hash */
			if (this->file != this->hashed) {
				this->hashed = this->file;
				this->hash = uhash(this->file + 16, ascii - 8 + PYLEN[this->file]);
			}
		}
		if (this->code && !ucached(this->code, this->instr,
			((this->hash ^ this->table) * 31 + WORD[this->name + 24]) * 31 + this->first)) {
			this->index = minor > 10 ? (int64_t)(this->instr - this->code - c_start) / 2 :
			    (int64_t)(int)this->instr;
			this->line = this->index < 0 ? 0 :
			    minor > 10 ? ulocations(this->table + 32, WORD[this->table + 16], this->index) :
			    minor == 10 ? ulinetab(this->table + 32, WORD[this->table + 16], 2 * this->index) :
			    ulnotab(this->table + 32, WORD[this->table + 16], this->index);
			/* what the compiler adds, such as the end of "except ... as", can have no line */
			if (this->line == -2147483648)
				uframe("@", PYSTR[this->file], " (", PYSTR[this->name], ")");
			else
				uframe("@", PYSTR[this->file], ":", this->first + this->line, " (", PYSTR[this->name], ")");
		}
	}
}
