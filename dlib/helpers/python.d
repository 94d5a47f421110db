/*
 * CPython 3.11: frames of Python functions, as "file.py:49 (function)".
 *
 * A call of one Python function by another does not recurse in C, so one native frame of
 * _PyEval_EvalFrameDefault() stands for several Python frames: those up to and including the first
 * one that is marked as an entry. The thread state is found as the interpreter finds it, in a
 * thread-specific value of the C library.
 *
 * Offsets: Include/internal/pycore_frame.h, Include/cpython/{pystate,code,unicodeobject}.h,
 * Objects/locations.md.
 */
#pragma D helper exec "python3*|libpython3*"

uint64_t eval, eval_end; /* the interpreter loop */
uint64_t specific;	 /* where struct pthread has the values, from the thread's own address */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint64_t PYLEN[uint64_t o] = WORD[o + 16];
inline uint32_t PYSTATE[uint64_t o] = *(uint32_t *)(o + 32);
/* the text of a str object: ASCII, or characters of 1, 2 or 4 bytes */
inline string PYSTR[uint64_t o] = PYSTATE[o] & 0x40 ? ustr(o + 48, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 1 ? ulatin1(o + 72, PYLEN[o]) :
    (PYSTATE[o] >> 2 & 7) == 2 ? utf16(o + 72, PYLEN[o]) : utf32(o + 72, PYLEN[o]);

dtrace:helper:attach:
{
	this->version = symaddr("Py_Version");
	if (!this->version)
		udecline("this is no CPython from 3.11 on");
	if (*(uint32_t *)this->version >> 16 != 0x030b)
		udecline("this version of CPython is not known");
	eval = symaddr("_PyEval_EvalFrameDefault");
	eval_end = eval + symsize("_PyEval_EvalFrameDefault");
	this->key = *(uint32_t *)(symaddr("_PyRuntime") + 0x254);
	this->layout = symaddr("_thread_db_pthread_specific", "libc.so*");
	if (!eval || !this->layout)
		udecline("a symbol is missing");
	/* the values of the first 32 keys are part of struct pthread, the pointers to all follow them */
	specific = *(uint32_t *)(this->layout + 8) - 512 + 16 * this->key + 8;
	if (this->key >= 32)
		udecline("the key of the thread state is not one of the first 32");
}

dtrace:helper:uthread:
{
	this->thread = WORD[WORD[arg4 + 16] + specific];
	this->frame = this->thread ? WORD[WORD[this->thread + 0x38] + 8] : 0;
	this->hashed = (uint64_t)0;
	this->hash = (uint64_t)0;
}

dtrace:helper:ustack:
/this->frame && arg0 >= eval && arg0 <= eval_end/
{
	this->is_entry = 0;
	while (this->frame && !this->is_entry; 8192) {
		this->code = WORD[this->frame + 0x20];
		this->instr = WORD[this->frame + 0x38];
		this->is_entry = *(uint8_t *)(this->frame + 0x44);
		this->frame = WORD[this->frame + 0x30];
		this->first = *(int *)(this->code + 0x48);
		this->name = WORD[this->code + 0x78];
		this->file = WORD[this->code + 0x70];
		this->table = WORD[this->code + 0x88];
		/* other code may lie where some was before: the texts count; names know their hash */
		if (this->file != this->hashed) {
			this->hashed = this->file;
			this->hash = uhash(this->file + 16, 40 + PYLEN[this->file]);
		}
		if (!ucached(this->code, this->instr, ((this->hash ^ this->table) * 31 + WORD[this->name + 24]) * 31 +
		    this->first)) {
			this->index = (int64_t)(this->instr - this->code - 0xb8) / 2;
			this->line = this->index < 0 ? 0 :
			    ulocations(this->table + 32, WORD[this->table + 16], this->index);
			uframe("@", PYSTR[this->file], ":", this->first + this->line, " (", PYSTR[this->name], ")");
		}
	}
}
