/* SPDX-License-Identifier: MIT */
/*
 * Subroutines of the DIF interpreter: the table, and those that are not about text.
 *
 * The semantics below bind every executor of DIF: this interpreter and the run-time library in the
 * kernel (rt/) must give the same value and the same fault for the same input.
 *
 * ---- Terms --------------------------------------------------------------------------------------
 *
 * S          strsize, bytes of a string including its NUL.
 * v[i]       argument i, the 64 bits that were pushed. int, size_t, char and the like are used as
 *            64-bit values unless a row below narrows them (the compiler has already extended
 *            them).
 * fault      KIND(value): the call stops at the first one, in the order in which the row names its
 *            steps. The result is then 0 and the DIFO ends.
 *
 * str(a)     Reads a string argument from kernel memory (string constants, variables and scratch
 *            are kernel memory): bytes from a on, up to and excluding a NUL, but at most S-1 of
 *            them. Touches at most S bytes: when none of them is NUL, the text is the first S-1. If
 *            a byte that has to be touched is unreadable: BADADDR(a): the address that was passed,
 *            not the byte that failed. NULL (a = 0) is not readable: BADADDR(0).
 *            (bpf_probe_read_kernel_str(buf, S, a) does this.) Lengths and positions below are
 *            those of the text so read. When a row has two string arguments, both are read, the
 *            first one first, before anything else is looked at (exception: strtok).
 * string     "result string": fresh scratch memory that holds the text, cut to its first S-1
 *            characters, and a NUL. Never NULL. Scratch is taken after the arguments were read and
 *            found good; if there is none: NOSCRATCH(0).
 * scratch    taken upwards in 8-byte aligned pieces; a result string takes round_up(S, 8) bytes
 *            whatever its length. Released at the end of the clause; the first blocks of a firing
 *            (1 KiB) at the end of the firing. How much there is is up to the executor.
 * block      alloca(), copyin(), memref() take 8 bytes more, in front of what they give: a block.
 *            What lies between two blocks belongs to nobody.
 * in scratch [d, d + size) lies in the part of scratch memory that has been handed out and not
 *            released, and inside one block, or outside all of them with those 8 bytes and the
 *            padding. The same is asked of what is read: of strings the first byte, of everything
 *            else all of it. (The kernel asks in sessions that have blocks.)
 * arguments  omitted optional arguments are not pushed and have the default given in [ ]. Fewer
 *            arguments than required, or more than known: ILLOP(0).
 * others     subroutines of dif/subrs.def without a row here: ILLOP(0).
 *
 * ---- Strings ------------------------------------------------------------------------------------
 *
 * strlen(s)            length of str(s): 0 .. S-1.
 *
 * strjoin(s, t)        string: str(s) followed by str(t), cut to S-1.
 *
 * substr(s, i, [len])  len omitted: INT64_MAX. n = length of str(s). Arithmetic is that of
 *                      unbounded integers (saturating is enough):
 *                      1. If i < 0:  i += n.  If i is still < 0: if len + i > 0 then len += i and
 *                         i = 0; otherwise the result is "".
 *                      2. If i >= n: "".
 *                      3. If len < 0: len += n - i (that many characters before the end are left
 *                         out).
 *                      4. If len <= 0: "".  Otherwise the min(len, n - i) characters from i on.
 *                      So substr("abc",-2) "bc", ("abc",-5) "abc", ("abc",-5,3) "a", ("abc",-5,2)
 *                      "", ("abc",-5,-1) "", ("abc",1,-1) "b", ("abc",0,-3) "", ("abc",3) "".
 *
 * index(s, t, [start]) start omitted: 0. n, m = lengths. start < 0 counts as 0; start > n as n.
 *                      The smallest p with start <= p <= n - m and t at position p of s; else -1.
 *                      An empty t is found at start: index("abc","") 0, ("abc","",9) 3, ("","") 0.
 *                      The result is -1 as 64 bits.
 *
 * rindex(s, t, [start]) start omitted: INT64_MAX. start < 0: 0 if t is empty, else -1. start > n
 *                      counts as n. The largest p with 0 <= p <= min(start, n - m) and t at
 *                      position p of s; else -1. rindex("abc","") 3, ("abc","",1) 1, ("abab","ab")
 *                      2, ("abab","ab",1) 0.
 *
 * strstr(s, t)         address s + p, p as index(s, t) gives it; 0 when that is -1. Not a copy. An
 *                      empty t: s.
 *
 * strchr(s, c)         c & 0xff. The address s + p of its first occurrence in str(s), 0 when
 * strrchr(s, c)        absent. Not a copy. strrchr: the last one. c = 0: s + n, the end, for both.
 *
 * strtok(s, t)         One state per firing: an address, 0 (no text was given) when its first
 *                      clause begins to run, or TOK_DONE (nothing is left of the text). When a
 *                      clause ends and the state lies in its scratch memory, the state moves to a
 *                      copy of [state, end of what was handed out), with a NUL behind it.
 *                      1. If s != 0: rest = s, else rest = state. If rest is the state 0:
 *                         BADADDR(0); if it is the state TOK_DONE, the result is 0; t is not
 *                         looked at in both cases.
 *                      2. state = TOK_DONE. Text r = str(rest), then delimiters d = str(t).
 *                      3. b = first position of r with a character not in d; none: the result is 0.
 *                      4. e = first position > b with a character in d, or the length of r.
 *                      5. Result string r[b..e). If e is not the length of r: state = rest + e + 1.
 *                      With empty d the whole r is one token (r empty: 0). Faults in 2 leave state
 *                      TOK_DONE.
 *
 * basename(s)          string. str(s) empty: ".". Trailing '/'s are removed; if nothing is left:
 *                      "/". Otherwise what follows the last '/' left, or all of it if there is
 *                      none.
 *                      "a" a, "a/" a, "/a" a, "/a/b//" b, "/" /, "//" /, "" "."
 *
 * dirname(s)           string. str(s) empty: ".". Remove trailing '/'s (nothing left: "/"); remove
 *                      trailing non-'/'s (nothing left: "."); remove trailing '/'s (nothing left:
 *                      "/"). What is left.
 *                      "a" ., "a/" ., "/a" /, "/a/" /, "a/b" a, "/a//b/" /a, "//a" /, "/" /, "//"
 *                      /, "" "."
 *
 * cleanpath(s)         string. Lexical; symbolic links are not known. Components are the maximal
 *                      runs without '/'; "last" means that no '/' follows it.
 *                      out = "/" if the text begins with '/', else "". floor = length of out.
 *                      For each component c in order:
 *                      - c is "." and not last: dropped; but if out is empty, "./" is appended and
 *                        floor = 2.
 *                      - c is "..": if out is longer than floor, the last component of out goes
 *                        (back to and keeping the '/' before it, or floor). Otherwise, text
 *                        beginning with '/': dropped. Otherwise ".." (and "/" unless last) is
 *                        appended and floor = length of out.
 *                      - any other, also a last ".": c is appended, and "/" unless it is last.
 *                      If out is empty and the text is not: ".".
 *                      "/a//b/" /a/b/, "/a/./b" /a/b, "/a/b/.." /a/, "/a/b/../c" /a/c, "/../a" /a,
 *                      "/a/." /a/., "./a" ./a, "a/.." ., "a/../b" b, "../a" ../a, "a/../../b" ../b,
 *                      "//" /, "" ""
 *
 * lltostr(v, [base])   base omitted: 10; base < 2 or > 36 (as signed): ILLOP(0). Base 10: v as
 *                      signed, with "-" when negative. Other bases: v as unsigned; digits 0-9a-z.
 *                      Base 16 has the prefix "0x" (zero is "0x0"), base 8 the prefix "0" (zero is
 *                      "0"). No leading zeros. A string: S-1 characters from the left.
 *
 * strtoll(s, [base])   base omitted: 10. str(s) is read, then base < 2 or > 36: ILLOP(0). Skips
 *                      space, \t \n \v \f \r; then one '-' or '+'; then, base 16 only, "0x" or
 *                      "0X". Then digits 0-9, a-z, A-Z below base up to the first other character:
 *                      value modulo 2^64, negated after '-'. No digits: 0.
 *
 * tolower(s)           string: A-Z to a-z (a-z to A-Z), all other bytes unchanged.
 * toupper(s)
 *
 * json(s, path)        Address of a result string, or 0: missing or malformed. Both are read with
 *                      str(). Path: its steps are the maximal runs of characters other than '.',
 *                      '[' and ']'; no step: 0. White space is space, \t, \n, \r.
 *                      A value is, after white space:
 *                      - '"' up to the next '"' (a backslash takes the following character with
 *                        it);
 *                      - '{' or '[' up to the bracket that brings the depth back to 0 ('{' '[' add
 *                        one, '}' ']' take one, those inside strings do not count);
 *                      - a word: a number as JSON has it, true, false or null; what ends it is
 *                        white space, ',', '}' or ']'.
 *                      anything else, or the end of the text inside one, is malformed: 0. So a word
 *                      at the end of the text is: the text may have been cut within it. Brackets
 *                      are closed by their own kind, and at most 64 are open at a time.
 *                      A step applied to a value that begins with '{': members  ws "key" ws : value
 *                      ws , one after another; the first whose key bytes equal the step (escapes
 *                      are not interpreted) is it. '}' in the place of a key: missing.
 *                      Applied to '[': the step must be 1 to 9 decimal digits, else missing; values
 *                      separated by ws , ws; the one with that index, from 0. ']' after white space
 *                      in the place of a value: missing. (So "a," before '}' or ']' is tolerated.)
 *                      What does not follow this form, before the value sought is reached:
 *                      malformed. Behind the value sought stands ',', the bracket that closes what
 *                      it is in, or (a string or a bracket is whole) the end of the text; what
 *                      comes after that is not looked at. A step applied to anything else: missing.
 *                      Result: the value's text; without the quotes if a string, escapes left as
 *                      they are.
 *
 * memstr(a, c, n)      n = 0: 0. n > 4096: ILLOP(0). The first min(n, S) bytes at kernel address a,
 *                      unreadable: BADADDR(a). A string of them in which every NUL is the character
 *                      c & 0xff, cut by one character.
 *
 * ---- Numbers ------------------------------------------------------------------------------------
 *
 * rand()               0 .. 2^31-1, pseudo-random.
 * sample(n, mean)      1 if a distance that is drawn (base/exponential.h) is at most n, else 0.
 * sampled(a)           1
 * followed(a)          1
 * htons ntohs (v)      the low 16, 32, 64 bits of v, from or to network order; zero-extended. On a
 * htonl ntohl (v)      big-endian machine only the truncation.
 * htonll ntohll (v)
 * getmajor(d)          (d & 0xffffffff) >> 20 (Linux: include/linux/kdev_t.h, MINORBITS 20)
 * getminor(d)          d & 0xfffff
 * progenyof(p)         1 if p (as s32) is the current process (thread group id) or one of its
 *                      ancestors by real parent; else 0.
 *
 * ---- Addresses ----------------------------------------------------------------------------------
 *
 * inet_ntoa(a)         string. 4 bytes at kernel address a (unreadable: BADADDR(a)): decimal with
 *                      dots.
 *
 * inet_ntoa6(a, [strict]) string. strict omitted: 1. 16 bytes at kernel address a (BADADDR(a)). If
 *                      the first 10 bytes are 0 and the next two are 0xff (v4-mapped), or the first
 *                      12 are 0 and the last four are neither 0.0.0.0 nor 0.0.0.1 (v4-compatible):
 *                      the last four as by inet_ntoa. Otherwise 8 groups of 16 bits, lower-case
 *                      hexadecimal without leading zeros, joined by ':'; the longest run of zero
 *                      groups (the first of equals) is written "::". A run of one group counts
 *                      only if strict = 0 (RFC 1884 shortened it, RFC 5952 4.2.2 forbids that).
 *                      all zero: "::"; 1:0:2:3:4:5:6:7 stays as it is (strict = 0:
 *                      "1::2:3:4:5:6:7")
 *
 * inet_ntop(af, a)     af = 2 (AF_INET): as inet_ntoa(a). af = 10 (AF_INET6): as inet_ntoa6(a), but
 *                      v4-mapped is "::ffff:1.2.3.4" and v4-compatible "::1.2.3.4". Other af (64
 *                      bits compared): ILLOP(0), before a is looked at.
 *
 * link_ntop(t, a)      t = 1 (ARPHRD_ETHER): 6 bytes, t = 32 (ARPHRD_INFINIBAND): 20 bytes at
 *                      kernel address a (BADADDR(a)), two lower-case hexadecimal digits each,
 *                      joined by ':'. Other t (64 bits compared): ILLOP(0), before a is looked at.
 *
 * ---- Names (tables: dif/names.h) ----------------------------------------------------------------
 *
 * strerrno(e), strerror(e), strsignal(e)
 *                      a = e, or -e if e < 0. If the executor's copy of the table has a row a: its
 *                      address, which is no scratch memory. Otherwise as lltostr(e, 10).
 *
 * strflags(r, v)       string. r is FLAG_ROWS(first, n); rows that flag_names[] does not have:
 *                      ILLOP(0). Of v the low 32 bits count. For each row in order: where
 *                      (v & mask) == value its name is appended, behind a '|' if there is text
 *                      before it, and v &= ~mask. If v is not 0 in the end, or nothing was
 *                      appended, v follows in the same way: 0x and lower-case hexadecimal, or 0.
 *                      Appending stops behind the row that makes the text S characters or longer.
 *
 * ---- Memory -------------------------------------------------------------------------------------
 *
 * alloca(n)            n bytes of scratch, 8-aligned, content undefined. More than is left:
 *                      NOSCRATCH(0). n = 0: an aligned address that is not 0; nothing is taken. As
 *                      the instruction allocs.
 * bcopy(src, dst, n)   n = 0: nothing is checked. [dst, dst+n) not in scratch: BADADDR(dst). Then n
 *                      bytes at kernel address src unreadable: BADADDR(src). Overlap: undefined
 *                      content. Result 0.
 * memref(a, n)         16 bytes of scratch as alloca(16) that hold a and n, 64 bits each.
 * copyin(ua, n)        scratch as alloca(n + 1), then n bytes at user address ua unreadable:
 *                      BADADDR(ua). The address of the copy, after which comes a NUL. n = 0: ua is
 *                      not touched.
 * copyinstr(ua, [max]) max omitted: UINT64_MAX. string. m = min(max, S-1), unsigned. Scratch is
 *                      taken first. User text at ua up to a NUL, at most m characters, touching at
 *                      most m+1 bytes; unreadable: BADADDR(ua).
 * copyinto(ua, n, dst) n = 0: nothing is checked. [dst, dst+n) not in scratch: BADADDR(dst). User
 *                      memory unreadable: BADADDR(ua). Result 0.
 */
#include "base/exponential.h"
#include "dif/interp_impl.h"

#include <endian.h>

/* ---- numbers --------------------------------------------------------------------------------- */

uint64_t subr_rand(struct dif_machine *m, const uint64_t *v)
{
	(void)v;
	return m->env.rand(m->env.ctx) & INT32_MAX;
}

uint64_t subr_swap16(struct dif_machine *m, const uint64_t *v)
{
	(void)m;
	return htobe16((uint16_t)v[0]);
}

uint64_t subr_swap32(struct dif_machine *m, const uint64_t *v)
{
	(void)m;
	return htobe32((uint32_t)v[0]);
}

uint64_t subr_swap64(struct dif_machine *m, const uint64_t *v)
{
	(void)m;
	return htobe64(v[0]);
}

uint64_t subr_getmajor(struct dif_machine *m, const uint64_t *v)
{
	(void)m;
	return (uint32_t)v[0] >> 20;
}

uint64_t subr_getminor(struct dif_machine *m, const uint64_t *v)
{
	(void)m;
	return v[0] & 0xfffff;
}

uint64_t subr_sample(struct dif_machine *m, const uint64_t *v)
{
	return exponential_draw(m->env.rand(m->env.ctx), v[1]) <= v[0];
}

uint64_t subr_sampled(struct dif_machine *m, const uint64_t *v)
{
	(void)m, (void)v;
	return 1;
}

uint64_t subr_followed(struct dif_machine *m, const uint64_t *v)
{
	(void)m, (void)v;
	return 1;
}

uint64_t subr_progenyof(struct dif_machine *m, const uint64_t *v)
{
	return m->env.progenyof(m->env.ctx, (int32_t)v[0]);
}

/* ---- memory ---------------------------------------------------------------------------------- */

uint64_t subr_alloca(struct dif_machine *m, const uint64_t *v)
{
	return mem_alloc_block(m, v[0]);
}

uint64_t subr_copyin(struct dif_machine *m, const uint64_t *v)
{
	uint64_t size = v[1], addr = mem_alloc_block(m, size + 1 ? size + 1 : size);
	char *copy = mem_host(addr);

	if (!addr)
		return 0;
	copy[size] = '\0';
	if (size && !mem_load(m, SPACE_USER, v[0], copy, size))
		return dif_fault(m, DIF_FAULT_BADADDR, v[0]);
	return addr;
}

uint64_t subr_copyinstr(struct dif_machine *m, const uint64_t *v)
{
	uint32_t max = (uint32_t)MIN(v[1], (uint64_t)m->strsize - 1), len;
	uint64_t addr = mem_alloc(m, m->strsize);

	if (addr && !mem_load_text(m, SPACE_USER, v[0], mem_host(addr), max, &len))
		return dif_fault(m, DIF_FAULT_BADADDR, v[0]);
	return addr;
}

/* Copies to scratch memory that the clause has allocated. */
static uint64_t copy_to_scratch(struct dif_machine *m, enum space space, uint64_t src, uint64_t dst,
				uint64_t size)
{
	CLEANUP(free) void *copy = NULL;
	void *host;

	if (!size)
		return 0;
	host = mem_in_scratch(m, dst, size);
	if (!host)
		return dif_fault(m, DIF_FAULT_BADADDR, dst);
	copy = xmalloc(size);
	if (!mem_load(m, space, src, copy, size))
		return dif_fault(m, DIF_FAULT_BADADDR, src);
	memcpy(host, copy, size);
	return 0;
}

uint64_t subr_bcopy(struct dif_machine *m, const uint64_t *v)
{
	return copy_to_scratch(m, SPACE_KERNEL, v[0], v[1], v[2]);
}

uint64_t subr_copyinto(struct dif_machine *m, const uint64_t *v)
{
	return copy_to_scratch(m, SPACE_USER, v[0], v[2], v[1]);
}

uint64_t subr_copyinint(struct dif_machine *m, const uint64_t *v)
{
	int32_t value;

	return mem_load(m, SPACE_USER, v[0], &value, sizeof(value)) ? (uint64_t)value : v[1];
}

uint64_t subr_memref(struct dif_machine *m, const uint64_t *v)
{
	uint64_t addr = mem_alloc_block(m, 16);

	if (addr)
		memcpy(mem_host(addr), v, 16);
	return addr;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The reference of a subroutine that the interpreter lacks. */
uint64_t subr_none(struct dif_machine *m, const uint64_t *v)
{
	(void)v;
	return dif_fault(m, DIF_FAULT_ILLOP, 0);
}

static const subr_fn functions[] = {
/* clang-format off */
#define SUBR(id, name, code, result, args, optional, fx, addresses, helpers, reference, ...) \
	[code] = subr_##reference,
#define SUBR_FOREIGN(id, name, code, ...) [code] = subr_none,
#include "dif/subrs.def"
#define SUBR_ATTACH(id, name, code, ...) [code] = subr_##name,
#define SUBR_WALK(id, name, code, result, args, optional, addresses, what, reference, ...) [code] = subr_##reference,
#include "dif/helper_subrs.def"
#define SUBR_REMAINS(id, name, code, ...) [code] = subr_##name,
#include "dif/remains_subrs.def"
	[DIF_SUBR_STACKID] = subr_none,
	/* clang-format on */
};

bool dif_subr_is_interpreted(uint32_t subr)
{
	return subr < ARRAY_LEN(functions) && functions[subr] && functions[subr] != subr_none;
}

static uint64_t subr_call_missing(struct dif_machine *m, uint32_t subr, const uint64_t *v)
{
	uint64_t ret = 0;
	enum dif_fault kind = m->env.missing(m->env.ctx, subr, v, &ret);

	return kind == DIF_FAULT_NONE ? ret : dif_fault(m, kind, ret);
}

uint64_t subr_call(struct dif_machine *m, uint32_t subr)
{
	const struct dif_subr_row *row = dif_subr_row(subr);
	uint64_t v[DIF_SUBR_ARGS];

	if (!row || m->ntuple < row->nmin || m->ntuple > row->nmax)
		return dif_fault(m, DIF_FAULT_ILLOP, 0);
	for (uint32_t i = 0; i < DIF_SUBR_ARGS; i++)
		v[i] = i < m->ntuple ? m->tuple[i].value : row->omitted;
	if (functions[subr] == subr_none && m->env.missing)
		return subr_call_missing(m, subr, v);
	return functions[subr](m, v);
}
