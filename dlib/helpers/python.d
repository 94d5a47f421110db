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
 * Offsets: CPython Include/internal/pycore_{frame,runtime}.h,
 * Include/cpython/{pystate,code,unicodeobject}.h, Objects/{locations.md,lnotab_notes.txt}.
 */
#pragma D helper exec "python3*|libpython3*"
#pragma D helper symbol "_PyEval_EvalFrameDefault"

table VERSIONS { /*	       3.8   3.9  3.10  3.11  3.12  3.13 */
	uint64_t minor	   =	 8,    9,   10,   11,   12,   13;
	/* offsets in _PyRuntime; 0: 3.13 says itself where these three and t_id are */
	uint64_t r_key	   =  1396,  588,  588,  596, 1548, 2164; /* the key of the thread state */
	uint64_t r_heads   =	32,   32,   32,	  40,	40,    0; /* the list of interpreters */
	/* of an interpreter: the next one, */
	uint64_t i_next	   =	 0,    0,    0,	   0,	 0,    0;
	uint64_t i_threads =	 8,    8,    8,	  16,	72,    0; /* its first thread */
	/* of a thread: its pthread_self(), */
	uint64_t t_id	   =   176,  176,  176,	 152,  136,    0;
	/* its current frame, or a pointer to */
	uint64_t t_frame   =	24,   24,   24,	  56,	56,   72;
	/* what has that here (_PyCFrame) */
	uint64_t c_frame   =	 0,    0,    0,	   8,	 0,    0;
	/* of a frame: its code, the one that called it, its last instruction, whose it is */
	uint64_t f_code	   =	32,   32,   32,	  32,	 0,    0;
	uint64_t f_back	   =	24,   24,   24,	  48,	 8,    8;
	uint64_t f_last	   =   104,  104,   96,	  56,	56,   56;
	uint64_t f_owner   =	70,   70,   70,	  68,	70,   70;
	/* of code: its first line, file, name, table of lines, first instruction */
	uint64_t c_first   =	40,   40,   40,	  72,	68,   68;
	uint64_t c_file	   =   104,  104,  104,	 112,  112,  112;
	uint64_t c_name	   =   112,  112,  112,	 120,  120,  120;
	uint64_t c_lines   =   120,  120,  120,	 136,  136,  136;
	uint64_t c_start   =   200,  200,  200,	 184,  192,  200;
	/* of a str object: its text, if it is ASCII, and if not */
	uint64_t ascii	   =	48,   48,   48,	  48,	40,   40;
	uint64_t compact   =	72,   72,   72,	  72,	56,   56;
};

uint64_t eval, eval_end; /* the interpreter loop */
uint64_t cold, cold_end; /* the part of it that the compiler has put elsewhere */
uint64_t key;		 /* the address of the key of the thread state */
uint64_t specific;	 /* where struct pthread has the values, from the thread's own address */
uint64_t heads;		   /* where the runtime has its list of interpreters */
uint64_t entered, current; /* in 3.11: the thread has its new _PyCFrame, which has no frame yet */

inline uint64_t PYLEN[uint64_t o] = WORD[o + 16];
inline uint32_t PYSTATE[uint64_t o] = *(uint32_t *)(o + 32);
/* the text of a str object: ASCII, or characters of 1, 2 or 4 bytes */
inline string PYSTR[uint64_t o] = PYSTATE[o] & 0x40 ? ustr(o + ascii, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 1 ? ulatin1(o + compact, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 2 ? utf16(o + compact, PYLEN[o]) : utf32(o + compact, PYLEN[o]);

/* a number made of it; the kind says how many bytes a character has */
inline uint64_t TEXT_HASH[uint64_t o] = PYSTATE[o] & 0x40 ? uhash(o + ascii, PYLEN[o]) :
    uhash(o + compact, PYLEN[o] * (PYSTATE[o] >> 2 & 7)) + (PYSTATE[o] >> 2 & 7);

/*
 * A linker that has the whole program before it (-flto) leaves Py_Version out, but not the text,
 * such as "3.11.2". Of two such texts, one is that of something else.
 */
inline void find_version_text()
{
	this->at = secaddr(".rodata");
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
	this->minor = this->texts == 2 ? 11 : this->texts == 4 ? 12 : this->texts == 8 ? 13 : 0;
}

/* The version: a variable has it from 3.11 on; before, the name of the file. */
dtrace:helper:attach:
{
	this->version = symaddr("Py_Version");
	this->program = objname("*python3.*");
	this->dot = index(this->program, "python3.");
	this->minor = this->version ? HALF[this->version] >> 16 & 0xff :
	    this->dot >= 0 ? strtoll(substr(this->program, this->dot + 8)) : 0;
	if (this->version && HALF[this->version] >> 24 != 3)
		this->minor = 0;
	this->searched = !this->version && !this->minor;
	if (this->searched)
		find_version_text();
	if (!VERSIONS[this->minor] || (minor < 11 && this->version) ||
	    (minor > 10 && !this->version && !this->searched))
		udecline("this version of CPython is not known (3.8 to 3.13 are)");
}

dtrace:helper:attach:
{
	this->files = symaddr("_PyEval_EvalFrameDefault", "libpython3*") ? "libpython3*" :
	    symaddr("_PyEval_EvalFrameDefault", "python3*") ? "python3*" : "*";
	eval = symaddr("_PyEval_EvalFrameDefault", this->files);
	eval_end = eval + symsize("_PyEval_EvalFrameDefault", this->files);
	this->runtime = symaddr("_PyRuntime", this->files);
	find_specific();
	specific = this->specific;
	if (!eval || !specific || !this->runtime)
		udecline("a symbol is missing");
	key = this->runtime + r_key;
	heads = this->runtime + r_heads;
	if (minor == 13) {
		heads = this->runtime + WORD[this->runtime + 40];
		i_next = WORD[this->runtime + 64];
		i_threads = WORD[this->runtime + 72];
		t_id = WORD[this->runtime + 192];
	}
}

/*
 * 3.11: tstate->cframe = &cframe, and a few instructions later cframe.current_frame = frame,
 * together with the field that follows. In between, current_frame is what was on the stack before.
 */
dtrace:helper:attach:
{
	entered = minor == 11 ? ubytes(eval, 512, "48 89 ?? 38") : 0;
	current = entered ? ubytes(entered, 64, "0f 11 ?? 24") : 0;
}

/* The cold part: by its symbol, or by the jumps to it. */
dtrace:helper:attach:
{
	this->hdr = secaddr(".eh_frame_hdr", this->files);
	cold = pieceaddr("_PyEval_EvalFrameDefault", 1, this->files);
	cold_end = cold + piecesize("_PyEval_EvalFrameDefault", 1, this->files);
	if (!cold) {
		find_cold(this->hdr, eval, eval_end);
		cold = this->cold;
		cold_end = this->cold_end;
	}
}

dtrace:helper:uthread:
{
	this->number = HALF[key];
	this->thread = SPECIFIC[specific, this->number];
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
 * There is, or was, more than one interpreter (each application of mod_wsgi has its own). The
 * thread has a state for each interpreter that it has been in; the specific value is only one of
 * them. The frames of that which has entered the interpreter loop lowest in the stack are the
 * innermost ones, and so on. Where that was, is known by something of each state that lies in the
 * stack: in 3.11 and 3.12 its _PyCFrame, in 3.13 the frame that belongs to C. Before, it is the
 * pointer to its innermost frame, which the loop's caller keeps because it releases the frame.
 */
dtrace:helper:ustack:
/this->many && !this->frame &&
    (arg0 >= eval && arg0 <= eval_end || arg0 > cold && arg0 <= cold_end)/
{
	this->interpreter = WORD[heads];
	this->next = (uint64_t)0;
	while (this->interpreter; 32) {
		this->thread = WORD[this->interpreter + i_threads];
		while (this->thread; 256) {
			this->top = WORD[this->thread + t_id] == arg4 ?
			    WORD[this->thread + t_frame] : 0;
			this->at = this->top;
			if (this->top && t_frame == 56)
				this->top = WORD[this->at + c_frame];
			while (this->at && minor == 13 && *(uint8_t *)(this->at + f_owner) < 3;
			    1024)
				this->at = WORD[this->at + f_back];
			if (this->top && minor < 11) {
				this->at = (uint64_t)arg2;
				while (WORD[this->at] != this->top && this->at - arg2 < 2048; 256)
					this->at += 8;
				this->at = WORD[this->at] == this->top ? this->at : 0;
			}
			if (this->top && this->at > this->lowest &&
			    (!this->next || this->at < this->next)) {
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

/*
 * Other code may lie where some was before, and its texts and table where others were: they count as
 * a whole (of a table, the first 1,024 bytes). Names know their hash, or -1. Most frames have the
 * file of the one before.
 */
inline void find_hashes()
{
	if (this->file != this->hashed) {
		this->hashed = this->file;
		this->hash = TEXT_HASH[this->file];
	}
	this->named = WORD[this->name + 24];
	if (!~this->named)
		this->named = TEXT_HASH[this->name];
	this->lines = uhash(this->table + 32, WORD[this->table + 16]);
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
			find_hashes();
		}
		if (this->code && !ucached(this->code + this->hash * 31, this->instr,
			this->named + (uint64_t)this->first, this->lines)) {
			this->index = minor > 10 ?
			    (int64_t)(this->instr - this->code - c_start) / 2 :
			    (int64_t)(int)this->instr;
			this->line = this->index < 0 ? 0 :
			    minor > 10 ?
			    ulocations(this->table + 32, WORD[this->table + 16], this->index) :
			    minor == 10 ?
			    ulinetab(this->table + 32, WORD[this->table + 16], 2 * this->index) :
			    ulnotab(this->table + 32, WORD[this->table + 16], this->index);
			/*
			 * what the compiler adds, such as the end of "except ... as", can have no
			 * line
			 */
			if (this->line == -2147483648)
				uframe("@", PYSTR[this->file], " (", PYSTR[this->name], ")");
			else
				uframe("@", PYSTR[this->file], ":", this->first + this->line, " (",
				    PYSTR[this->name], ")");
		}
	}
}
