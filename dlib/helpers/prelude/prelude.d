/* SPDX-License-Identifier: MIT */
/*
 * What helpers have in common: these names are known in every file of a helper, which may give
 * another meaning to any of them.
 */

/* ---- the memory of the process, by address --------------------------------------------------- */

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline uint32_t HALF[uint64_t a] = *(uint32_t *)a;
inline uint16_t SHORT[uint64_t a] = *(uint16_t *)a;
inline uint8_t BYTE[uint64_t a] = *(uint8_t *)a;
inline int INT[uint64_t a] = *(int *)a; /* with a sign */

/* whether a number can be the address of an object */
inline int IS_POINTER[uint64_t a] = a >= 65536 && !(a & 7) && a < 1ull << 47;

/* ---- instructions ------------------------------------------------------------------------------ */

/* where the last four bytes of an instruction lead, which are a distance from behind them: of a
 * call, a jump, "lea x(%rip)" */
inline uint64_t TARGET[uint64_t a] = a + 4 + *(int *)a;

/* ---- threads ------------------------------------------------------------------------------------ */

/*
 * a thread's block of variables of a module (tlsmod()); 0 or all ones: it has none yet. While the
 * dynamic linker maps a program's libraries, there is no thread pointer (arg4).
 */
inline uint64_t TLS[uint64_t module] = arg4 ?
    *(uint64_t *)(*(uint64_t *)(arg4 + 8) + 16 * module) : 0;

/*
 * A value of pthread_getspecific(): find_specific() sets, in an attach clause, this->specific, which
 * is where struct pthread has the values of the first 32 keys, or 0. What glibc tells debuggers has
 * the offset of the pointers to all values in its third word; behind them come these.
 */
inline void find_specific()
{
	this->layout = symaddr("_thread_db_pthread_specific", "libc.so*");
	if (!this->layout)
		this->layout = symaddr("_thread_db_pthread_specific", "libpthread*.so*");
	if (!this->layout) /* the C library is part of the program */
		this->layout = symaddr("_thread_db_pthread_specific", "*");
	this->specific = this->layout ? *(uint32_t *)(this->layout + 8) - 512 + 8 : 0;
}
inline uint64_t SPECIFIC[uint64_t specific, uint64_t key] =
    key < 32 && arg4 ? *(uint64_t *)(*(uint64_t *)(arg4 + 16) + specific + 16 * key) : 0;

/* ---- functions without symbols, in attach clauses ------------------------------------------------ */

/*
 * The table of functions (.eh_frame_hdr, at h): sorted pairs of the start of a function, as a
 * distance from h, and where its entry is, which has the start and the length. All linkers write it
 * in one form.
 */
inline int IS_TABLE[uint64_t h] = h && *(uint32_t *)h == 0x3b031b01;
/* the entry of the function that has an address, or would have it; its start and its end */
inline uint64_t ENTRY[uint64_t h, uint64_t a] =
    h + *(int *)(h + 16 + 8 * ubsearch(h + 12, *(uint32_t *)(h + 8), 8, 4, (uint32_t)(a - h)));
inline uint64_t START[uint64_t e] = e + 8 + *(int *)(e + 8);
inline uint64_t END[uint64_t e] = e + 8 + *(int *)(e + 8) + *(uint32_t *)(e + 12);

/*
 * The part of the function from `from` to `to` that the compiler has put elsewhere: sets this->cold
 * and this->cold_end, or 0. It is where two conditional jumps (je) out of the function lead to, not
 * to its beginning.
 */
inline void find_cold(uint64_t h, uint64_t from, uint64_t to)
{
	this->cold = this->cold_end = 0ull;
	this->seen_cold = 0ull;
	this->jump = IS_TABLE[h] ? from : 0;
	while (this->jump && !this->cold; 4096) {
		this->jump = ubytes(this->jump, to - this->jump, "0f 84");
		this->led = this->jump ? TARGET[this->jump + 2] : 0;
		this->jump = this->jump ? this->jump + 1 : 0;
		if (this->led && (this->led < from || this->led >= to) &&
		    this->led - from + 0x1000000 < 0x2000000) {
			this->entry = ENTRY[h, this->led];
			if (this->led >= START[this->entry] && this->led < END[this->entry]) {
				if (START[this->entry] == this->seen_cold) {
					this->cold = this->seen_cold;
					this->cold_end = END[this->entry];
				}
				this->seen_cold = START[this->entry];
			}
		}
	}
}
