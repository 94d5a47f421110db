/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the debugger's commands about a core file of a process that is hostile. The file is
 * one of a process with three threads, a heap of glibc's malloc with two arenas, and an auxiliary
 * vector. The input is a tape of choices:
 *
 *     u8 flags         FLAG_*
 *     u8 ncommands, and for each u8 which, u8 region, u16 word: what is asked about which address
 *     until the end: u8 how and region, u16 word, a value: a change of the process's memory
 *
 * Whatever its memory has, each command ends; what it writes is text that a terminal can be given,
 * or a line of valid JSON.
 */
#include <elf.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "base/text.h"
#include "dtrace.h"
#include "mdb/heap.h"
#include "mdb/mdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAGE	     4096u
#define THREADS	     3u
#define COMMANDS_MAX 6u
#define CHANGES_MAX  200u

enum {
	FLAG_JSON = 1,
	FLAG_NO_FILES = 2,     /* the core file does not name files */
	FLAG_NO_ARENA = 4,     /* the second arena is not there */
	FLAG_SCATTERED = 8,    /* sbrk() has failed once */
	FLAG_CUT = 16,	       /* the end of the heap is missing in the file */
	FLAG_PLAIN_LINKS = 32, /* links of caches are addresses, as before glibc 2.32 */
};

/* ---- memory ---------------------------------------------------------------------------------- */

enum { CODE, DATA, HEAP, ARENA, STACK, REGS, TEXTS, NREGIONS };
#define NMAPPED REGS /* those before it are memory of the process */

static struct region {
	taddr addr;
	uint32_t size, flags;
	uint8_t bytes[4 * PAGE];
} regions[NREGIONS] = {
	[CODE] = {0x400000, PAGE, PF_R | PF_X, {0}},
	[DATA] = {0x402000, 2 * PAGE, PF_R | PF_W, {0}},
	[HEAP] = {0x500000, 4 * PAGE, PF_R | PF_W, {0}},
	[ARENA] = {0x10000000, 2 * PAGE, PF_R | PF_W, {0}}, /* a multiple of 64 MB */
	[STACK] = {0x7ffd0000, 2 * PAGE, PF_R | PF_W, {0}},
	/* what notes have: registers; names and arguments of the process and its files */
	[REGS] = {0, THREADS * sizeof(elf_gregset_t), 0, {0}},
	[TEXTS] = {0, 256, 0, {0}},
};

#define MAIN_ARENA (regions[DATA].addr + 0x100)
#define PARAMS	   (MAIN_ARENA + ARENA_SIZE + 64)
#define MUTEX	   (regions[DATA].addr + 0x1800)
#define RWLOCK	   (regions[DATA].addr + 0x1840)
#define OTHER	   (regions[ARENA].addr + 48) /* the second arena, behind the head of its heap */

static void word_set(taddr addr, uint64_t word)
{
	for (int i = 0; i < NMAPPED; i++)
		if (addr >= regions[i].addr && addr - regions[i].addr <= regions[i].size - 8)
			memcpy(regions[i].bytes + (addr - regions[i].addr), &word, sizeof(word));
}

/* A chunk of malloc; returns the address of the next one. */
static taddr chunk_put(taddr at, uint64_t size, uint64_t bits)
{
	word_set(at + 8, size | bits);
	return at + size;
}

/* An arena without free chunks but its top, and the link to the next one. */
static void arena_put(taddr at, taddr top, uint64_t system, taddr next)
{
	for (uint32_t i = 0; i < ARENA_NBINS; i++) {
		word_set(at + ARENA_BINS + 16ull * i, ARENA_BIN(at, i));
		word_set(at + ARENA_BINS + 16ull * i + 8, ARENA_BIN(at, i));
	}
	word_set(at + ARENA_TOP, top);
	word_set(at + ARENA_NEXT, next);
	word_set(at + ARENA_ATTACHED, 1);
	word_set(at + ARENA_SYSTEM, system);
}

/* Puts a chunk into a bin, as the only one of it. */
static void bin_put(taddr arena, uint32_t bin, taddr chunk)
{
	word_set(ARENA_BIN(arena, bin) + CHUNK_HEADER, chunk);
	word_set(ARENA_BIN(arena, bin) + CHUNK_HEADER + 8, chunk);
	word_set(chunk + CHUNK_HEADER, ARENA_BIN(arena, bin));
	word_set(chunk + CHUNK_HEADER + 8, ARENA_BIN(arena, bin));
}

/* The heap of the main arena: a cache of a thread, lists of chunks, free ones, the end. */
static void heap_put(uint32_t flags)
{
	taddr at = regions[HEAP].addr, tcache = at, cached, before = 0;
	taddr end = regions[HEAP].addr + regions[HEAP].size;

	at = chunk_put(at, 0x290, 1);
	cached = at;
	for (int i = 0; i < 3; i++) { /* freed, in the cache of the thread; the last one is 0 */
		uint64_t next = i < 2 ? at + 0x40 + CHUNK_HEADER : 0, place = at + CHUNK_HEADER;

		word_set(place, flags & FLAG_PLAIN_LINKS ? next : next ^ place >> 12);
		at = chunk_put(at, 0x40, 1);
	}
	word_set(tcache + CHUNK_HEADER, (uint64_t)3 << 32); /* of chunks of 64 bytes */
	word_set(tcache + CHUNK_HEADER + 128 + 8 * 2, cached + CHUNK_HEADER);
	for (int i = 0; i < 10; i++) { /* a list */
		word_set(at + CHUNK_HEADER, before);
		before = at + CHUNK_HEADER;
		at = chunk_put(at, 0x60, 1);
	}
	word_set(regions[DATA].addr + 0x40, before);
	bin_put(MAIN_ARENA, 5, at);
	word_set(at + 0x70, 0x70);
	at = chunk_put(at, 0x70, 1);
	at = chunk_put(at, 0x30, 0);
	arena_put(MAIN_ARENA, at, regions[HEAP].size, flags & FLAG_NO_ARENA ? MAIN_ARENA : OTHER);
	bin_put(MAIN_ARENA, 5, at - 0x30 - 0x70);
	word_set(MAIN_ARENA, flags & FLAG_SCATTERED ? (uint64_t)2 << 32 : 0);
	(void)chunk_put(at, end - at, 1);
}

/* struct malloc_par, as far as it is read: counters, where the heap begins, limits of caches. */
static void params_put(void)
{
	word_set(PARAMS + 16, (uint64_t)65536 << 32 | 0); /* n_mmaps, n_mmaps_max */
	word_set(PARAMS + 24, 0);
	word_set(PARAMS + 56, regions[HEAP].addr);
	word_set(PARAMS + 64, 64);
	word_set(PARAMS + 72, 1032);
	word_set(PARAMS + 80, 7);
}

static void other_put(void)
{
	taddr at = ROUND_UP(OTHER + ARENA_SIZE, (taddr)16);
	taddr end = regions[ARENA].addr + regions[ARENA].size;

	word_set(regions[ARENA].addr, OTHER);
	word_set(regions[ARENA].addr + 16, regions[ARENA].size);
	at = chunk_put(at, 0x50, 5);
	at = chunk_put(at, 0x150, 5);
	arena_put(OTHER, at, regions[ARENA].size, MAIN_ARENA);
	(void)chunk_put(at, end - at, 5);
}

static void reg_set(uint32_t thread, uint32_t off, uint64_t value)
{
	memcpy(regions[REGS].bytes + thread * sizeof(elf_gregset_t) + off, &value, sizeof(value));
}

/* Two threads wait for a mutex and a rwlock; the third runs. */
static void threads_put(void)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		taddr sp = regions[STACK].addr + 0x400 * (i + 1), fp = sp + 64;

		reg_set(i, arch.pc, regions[CODE].addr + 0x100 * i);
		reg_set(i, arch.sp, sp);
		reg_set(i, 8u * arch.unwind.words[arch.unwind.fp], fp);
		for (int k = 0; k < 4; k++) { /* frames */
			word_set(fp, fp + 64);
			word_set(fp + 8, regions[CODE].addr + 0x20 * (k + 1));
			fp += 64;
		}
		if (!i)
			continue;
		reg_set(i, arch.sys_nr, SYS_futex);
		reg_set(i, arch.sys_args[0], i == 1 ? MUTEX : RWLOCK + 8);
		reg_set(i, arch.sys_args[1], 128);
		reg_set(i, arch.sys_args[2], 2);
	}
	word_set(MUTEX, 2);
	word_set(MUTEX + 8, 102);
	word_set(RWLOCK, 1);
	word_set(RWLOCK + 24, 101);
}

static void memory_make(uint32_t flags)
{
	for (int i = 0; i < NREGIONS; i++)
		memset(regions[i].bytes, i == CODE ? 0x90 : 0, sizeof(regions[i].bytes));
	(void)snprintf((char *)regions[TEXTS].bytes, regions[TEXTS].size,
		       "made%cmade by hand%c/made/program%c/made/libc.so.6", 0, 0, 0);
	heap_put(flags);
	params_put();
	other_put();
	threads_put();
	for (uint32_t i = 0; i < 16; i++) /* texts, and words that lead to them */
		word_set(regions[DATA].addr + 8ull * i, regions[HEAP].addr + 0x300 + 0x60ull * i);
}

/* ---- the tape -------------------------------------------------------------------------------- */

struct tape {
	const uint8_t *p, *end;
};

static uint64_t tape_get(struct tape *t, size_t size)
{
	uint64_t v = 0;
	size_t n = MIN(size, (size_t)(t->end - t->p));

	memcpy(&v, t->p, n);
	t->p += n;
	return v;
}

static taddr tape_addr(struct tape *t)
{
	const struct region *r = &regions[tape_get(t, 1) % NMAPPED];

	return r->addr + tape_get(t, 2) % r->size;
}

static void change_make(struct tape *t)
{
	uint64_t how = tape_get(t, 1), word;
	struct region *r = &regions[how % NREGIONS];
	uint8_t *at = r->bytes + tape_get(t, 2) * 8 % r->size;

	memcpy(&word, at, sizeof(word));
	switch (how / NREGIONS % 6) {
	case 0: word = tape_addr(t); break;
	case 1: word = tape_get(t, 8); break;
	case 2: word = tape_get(t, 1); break;
	case 3: word += (uint64_t)(int8_t)tape_get(t, 1); break;
	case 4: word ^= 1ull << tape_get(t, 1) % 64; break;
	default: word = UINT64_MAX << tape_get(t, 1) % 64; break;
	}
	memcpy(at, &word, sizeof(word));
}

/* ---- the core file --------------------------------------------------------------------------- */

static void note_add(struct strbuf *b, uint32_t type, const void *desc, size_t size)
{
	const Elf64_Nhdr n = {.n_namesz = 5, .n_descsz = (uint32_t)size, .n_type = type};

	strbuf_add(b, (const char *)&n, sizeof(n));
	strbuf_add(b, "CORE\0\0\0", 8);
	strbuf_add(b, desc, size);
	strbuf_pad(b, 0, -size & 3);
}

/* The text of that number; they lie one behind the other, and each ends at the end of all. */
static const char *text_at(uint32_t number)
{
	const char *p = (const char *)regions[TEXTS].bytes, *end = p + regions[TEXTS].size - 1;

	while (number-- && p < end)
		p = MIN(p + strlen(p) + 1, end);
	return p;
}

static void files_add(struct strbuf *b)
{
	const uint64_t head[] = {2,
				 PAGE,
				 regions[CODE].addr,
				 regions[CODE].addr + regions[CODE].size,
				 0,
				 regions[DATA].addr,
				 regions[DATA].addr + regions[DATA].size,
				 1};
	struct strbuf note = {0};

	strbuf_add(&note, (const char *)head, sizeof(head));
	for (uint32_t i = 2; i < 4; i++)
		strbuf_add(&note, text_at(i), strlen(text_at(i)) + 1);
	note_add(b, NT_FILE, note.data, note.len);
	strbuf_deinit(&note);
}

static void notes_make(struct strbuf *b, uint32_t flags)
{
	struct elf_prpsinfo info = {.pr_pid = 100, .pr_uid = 7};
	const uint64_t aux[] = {AT_PHDR,   regions[CODE].addr,
				AT_PHNUM,  4,
				AT_ENTRY,  regions[CODE].addr + 64,
				AT_EXECFN, regions[STACK].addr + 0x1f00,
				AT_NULL,   0};
	siginfo_t si = {.si_signo = SIGSEGV, .si_code = 1};

	for (uint32_t i = 0; i < THREADS; i++) {
		struct elf_prstatus st = {.pr_pid = (pid_t)(100 + i)};

		memcpy(&st.pr_reg, regions[REGS].bytes + i * sizeof(st.pr_reg), sizeof(st.pr_reg));
		note_add(b, NT_PRSTATUS, &st, sizeof(st));
		if (i)
			continue;
		memcpy(info.pr_fname, text_at(0), MIN(strlen(text_at(0)), sizeof(info.pr_fname)));
		memcpy(info.pr_psargs, text_at(1), MIN(strlen(text_at(1)), sizeof(info.pr_psargs)));
		note_add(b, NT_PRPSINFO, &info, sizeof(info));
		note_add(b, NT_SIGINFO, &si, sizeof(si));
		note_add(b, NT_AUXV, aux, sizeof(aux));
		if (!(flags & FLAG_NO_FILES))
			files_add(b);
	}
}

static void core_make(struct strbuf *b, uint32_t flags)
{
	Elf64_Phdr ph[1 + NMAPPED] = {{.p_type = PT_NOTE, .p_align = 4}};
	const Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
			       .e_type = ET_CORE,
			       .e_machine = arch.elf.machine,
			       .e_version = EV_CURRENT,
			       .e_phoff = sizeof(eh),
			       .e_ehsize = sizeof(eh),
			       .e_phentsize = sizeof(ph[0]),
			       .e_phnum = ARRAY_LEN(ph)};

	strbuf_add(b, (const char *)&eh, sizeof(eh));
	strbuf_pad(b, 0, sizeof(ph));
	ph[0].p_offset = b->len;
	notes_make(b, flags);
	ph[0].p_filesz = b->len - ph[0].p_offset;
	for (int i = 0; i < NMAPPED; i++) {
		const struct region *r = &regions[i];
		uint32_t size = i == HEAP && flags & FLAG_CUT ? r->size / 2 : r->size;

		ph[1 + i] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = r->flags,
					 .p_offset = b->len,
					 .p_vaddr = r->addr,
					 .p_filesz = size,
					 .p_memsz = r->size};
		strbuf_add(b, (const char *)r->bytes, size);
	}
	memcpy(b->data + sizeof(eh), ph, sizeof(ph));
}

/* ---- what is written ------------------------------------------------------------------------- */

static bool out_take(void *ctx, const char *text, size_t len)
{
	strbuf_add(ctx, text, len);
	return true;
}

static void clean_check(const char *text, size_t len)
{
	CLEANUP(free) char *copy = xmalloc(len + 1);

	memcpy(copy, text, len);
	text_clean_bytes(copy, len, "\n\t", '?');
	if (memcmp(copy, text, len) != 0)
		BUG("a terminal is given what controls it");
}

static void error_take(void *ctx, const char *text)
{
	(void)ctx;
	if (!*text)
		BUG("an error without a text");
	clean_check(text, strlen(text));
}

/* JSON (RFC 8259) without blank lines: returns what follows the value; a BUG() if it is none. */
static const char *json_skip(const char *p, uint32_t depth);

static const char *json_string_skip(const char *p)
{
	for (p++; *p != '"'; p++) {
		if ((unsigned char)*p < ' ')
			BUG("a string of JSON does not end");
		if (*p == '\\' && !strchr("\"\\/bfnrtu", *++p))
			BUG("an escape that JSON does not have");
	}
	return p + 1;
}

static const char *json_blanks_skip(const char *p)
{
	return p + strspn(p, " ");
}

static const char *json_members_skip(const char *p, char close, uint32_t depth)
{
	p = json_blanks_skip(p + 1);
	if (*p == close)
		return p + 1;
	for (;;) {
		if (close == '}') {
			if (*p != '"')
				BUG("a member without a name");
			p = json_blanks_skip(json_string_skip(p));
			if (*p++ != ':')
				BUG("a member without a value");
		}
		p = json_blanks_skip(json_skip(json_blanks_skip(p), depth + 1));
		if (*p == close)
			return p + 1;
		if (*p++ != ',')
			BUG("no comma between values");
		p = json_blanks_skip(p);
	}
}

static const char *json_skip(const char *p, uint32_t depth)
{
	static const char *const words[] = {"true", "false", "null"};
	char *end;

	if (depth > 100)
		BUG("JSON is deeper than anything that is written");
	if (*p == '"')
		return json_string_skip(p);
	if (*p == '{' || *p == '[')
		return json_members_skip(p, *p == '{' ? '}' : ']', depth);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strncmp(p, words[i], strlen(words[i])) == 0)
			return p + strlen(words[i]);
	if (*p != '-' && (*p < '0' || *p > '9'))
		BUG("a value that JSON does not have");
	(void)strtod(p, &end);
	return end;
}

static void json_check(const struct strbuf *out)
{
	const char *p = strbuf_text(out);

	while (*p) {
		if (*p != '{')
			BUG("a line that is no document");
		p = json_skip(p, 0);
		if (*p++ != '\n')
			BUG("a document does not end its line");
	}
}

/* ---- commands -------------------------------------------------------------------------------- */

/* %lx is an address of the process. */
static const char *const commands[] = {
	"::status",
	"::threads",
	"::stack -a",
	"::stackregs -a -u",
	"::regs\n::regs -f 1",
	"::fpregs -v",
	"::mappings",
	"%lx::mappings",
	"::objects\n::libs",
	"::malloc",
	"::mallocbrk",
	"::mallocbrk -s",
	"::findleaks",
	"::findleaks -dv",
	"%lx::chunk",
	"%lx::whatis",
	"%lx::findptr",
	"::findstr made",
	"::locks",
	"::args\n::env\n::auxv\n::siginfo\n::files",
	"%lx,10::dis",
	"%lx::dis -f -n 5",
	"%lx,20/K",
	"%lx/s",
	"%lx/SnC",
	"%lx,4/i",
	"%lx/xXdDoOpab",
	"%lx=KdexX",
	"::walk arena | ::walk chunk | ::whatis",
	"::walk busy | ::chunk",
	"::walk freed | /K",
	"::walk frame | ::whatis",
	"::walk mapping | ::mappings\n::walk object\n::walk thread",
	"::typedef 'struct node { struct node *next; char name[8]; int n; }'\n"
	"%lx::print -at struct node\n%lx::list 'struct node' next",
	"::typedef 'struct node { struct node *next; char *name; double d; unsigned b : 3; }'\n"
	"%lx::list 'struct node' next | ::print -d 4 struct node",
	"::typedef 'struct node { struct node *next; char *name; short list[20]; }'\n"
	"%lx::printf '%%s %%p %%a %%d' 'struct node' name next next list[1]",
	"%lx::array int 20 | ::map '*. + 1' | ::grep '. > 3'",
	"::lstack -va\n::lthreads\n::lobjects",
	"%lx::lprint\n%lx::ltype\n%lx::lstr",
	"%lx+8>a\n<a/K\n*%lx=K",
};

static void command_add(struct tape *t, struct strbuf *out)
{
	const char *p = commands[tape_get(t, 1) % ARRAY_LEN(commands)], *next;
	taddr addr = tape_addr(t);

	for (; (next = strchr(p, '%')); p = next) {
		strbuf_add(out, p, (size_t)(next - p));
		if (strncmp(next, "%lx", 3) == 0) {
			strbuf_addf(out, "%" PRIx64, addr);
			next += 3;
		} else {
			strbuf_addc(out, '%');
			next += 2;
		}
	}
	strbuf_adds(out, p);
	strbuf_addc(out, '\n');
}

/* A heap that was found is within the memory of the process, and in order. */
static void heap_look(const struct heap *h)
{
	for (uint32_t i = 0; i < h->chunks.len; i++) {
		const struct chunk *c = &h->chunks.data[i];

		if (!c->size || c->addr + c->size < c->addr ||
		    (i && c->addr < c[-1].addr + c[-1].size))
			BUG("chunk at %#" PRIx64, c->addr);
		if (heap_chunk_at(h, c->addr) != c || heap_chunk_at(h, c->addr + c->size - 1) != c)
			BUG("the chunk at %#" PRIx64 " is not found", c->addr);
	}
}

/* is_intact: no memory of the process was changed, so that it has a heap without damage. */
static void session_run(struct dtrace_hdl *h, const char *path, bool is_json, bool is_intact,
			const char *text)
{
	struct strbuf out = {0};
	const struct mdb_opts opts = {.h = h,
				      .core = path,
				      .is_json = is_json,
				      .ctx = &out,
				      .write = out_take,
				      .error = error_take};
	struct mdb *m = NULL;
	struct heap *heap;
	struct err *e = mdb_open(&opts, &m);

	if (e)
		BUG("the core file was refused: %s", err_text(e));
	(void)mdb_run(m, text); /* commands may fail, with a message */
	e = heap_get(m, &heap);
	if (!e)
		heap_look(heap);
	if (is_intact && (e || heap->damages.len))
		BUG("the heap: %s", e ? err_text(e) : heap->damages.data[0].what);
	err_destroy(e);
	mdb_close(m);
	clean_check(strbuf_text(&out), out.len);
	if (is_json)
		json_check(&out);
	strbuf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dtrace_hdl *h;
	static char path[64];
	static int fd = -1;
	struct tape t = {data, data + size};
	struct strbuf core = {0}, text = {0};
	uint32_t flags = (uint32_t)tape_get(&t, 1), n = (uint32_t)tape_get(&t, 1) % COMMANDS_MAX;
	bool is_intact;
	int error;

	if (!h) {
		h = dtrace_open(DTRACE_VERSION, DTRACE_O_NODEV, &error);
		fd = memfd_create("fuzz_mdb", MFD_CLOEXEC); /* nothing is left when it ends */
		(void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
		if (!h || fd < 0)
			BUG("no session: %s", h ? "no file" : dtrace_open_errmsg());
	}
	for (uint32_t i = 0; i <= n; i++)
		command_add(&t, &text);
	memory_make(flags);
	is_intact = t.p == t.end && !(flags & FLAG_CUT);
	for (uint32_t i = 0; t.p < t.end && i < CHANGES_MAX; i++)
		change_make(&t);
	core_make(&core, flags);
	if (ftruncate(fd, 0) || pwrite(fd, core.data, core.len, 0) != (ssize_t)core.len)
		BUG("cannot write '%s'", path);
	session_run(h, path, flags & FLAG_JSON, is_intact, strbuf_text(&text));
	strbuf_deinit(&core);
	strbuf_deinit(&text);
	return 0;
}
