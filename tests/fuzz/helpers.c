/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: ustack helpers over hostile memory. The input is memory in which helpers follow
 * pointers, walk circles, read tables and texts, in the interpreter of DIF: whatever it is, each
 * walk ends, and no more frames come than were asked for.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "d/compile.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "files/gate.h"
#include "helper/replay.h"
#include "target/target.h"

#define ARENA  ((uint8_t *)0x31000000) /* 64 KiB, behind which there is nothing */
#define SIZE   65536u
#define FRAMES 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
	"inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;\n"
	"uint64_t base;\n"
	"string word;\n"
	"dtrace:helper:attach: { base = 0x31000000; word = copyinstr(base + 8);\n"
	"    this->n = 0; while (WORD[base + 8 * this->n] != 0; 300) this->n++; }\n"
	"dtrace:helper:uthread: { this->at = base + WORD[base] % 65000; this->x = (uint64_t)0; }\n"
	"dtrace:helper:ustack: { unwind(base + WORD[arg2] % 65536, base + WORD[arg2 + 8] % 65536, 0); }\n"
	"dtrace:helper:ustack: /this->at/ {\n"
	"    while (this->at; 60) {\n"
	"	uframe(copyinstr(WORD[this->at + 8]), WORD[this->at + 16]);\n"
	"	this->at = arg3 & 1 ? WORD[this->at] : base + WORD[this->at] % 65000; } }\n"
	"dtrace:helper:ustack: /arg3 & 1/ {\n"
	"    this->x = uvlqpairs(arg0, WORD[base + 24], arg3) + ulocations(base, WORD[base], 9)\n"
	"	+ upackedlines(base + 64, WORD[base + 16], 77, 1) + uword(WORD[base + 24]) + ucountnl(WORD[base], WORD[base + 8])\n"
	"	+ ubsearch(base, WORD[base + 8], 8, 8, this->x);\n"
	"    this->x / WORD[base + 40]; }\n"
	"dtrace:helper:ustack: /arg3 % 3 == 0/ { strjoin(utf16(arg2, WORD[arg2]), word); }\n";

static bool arena_read(void *ctx, taddr addr, void *dst, size_t size)
{
	(void)ctx;
	if (addr < (uintptr_t)ARENA || addr > (uintptr_t)ARENA + SIZE - size)
		return false;
	memcpy(dst, (const void *)(uintptr_t)addr, size);
	return true;
}

/* All of the arena is executable, and has no unwind information. */
static bool arena_code(void *ctx, taddr addr, enum walk_rows which, struct walk_code *ret)
{
	(void)ctx;
	*ret = (struct walk_code){0};
	return addr >= (uintptr_t)ARENA && addr < (uintptr_t)ARENA + SIZE;
}

static struct helper *helper_make(void)
{
	static const struct compile_opts opts = {.strsize = 256, .scratchsize = 65536};
	char path[] = "/tmp/fuzz_helpers.XXXXXX";
	int fd = mkstemp(path);
	struct helper *h = NULL;
	struct err *e;

	if (fd < 0 || write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1)
		BUG("cannot write '%s'", path);
	(void)close(fd);
	e = helper_open(path, &h);
	(void)unlink(path);
	if (e)
		BUG("%s", err_text(e));
	if (!helper_compile(h, &opts, NULL))
		BUG("%s", err_text(h->err));
	return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file_opts files;
	static struct helper *h;
	static struct target *self;
	struct arch_regs regs = {0};
	struct replay r = {.nhelpers = 1,
			   .space = {arena_read, arena_code, NULL},
			   .regs = &regs,
			   .max_frames = FRAMES,
			   .strsize = 512};

	if (!h) {
		void *at = mmap(ARENA, SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (at != ARENA)
			BUG("no memory at %p", (void *)ARENA);
		files.gate = gate_create();
		files.limit = GATE_LIMIT_DEFAULT;
		files.images = image_set_create();
		h = helper_make();
		if (target_live_open(getpid(), files.gate, &self))
			BUG("cannot read what is mapped here");
	}
	memset(ARENA, 0, SIZE);
	memcpy(ARENA, data, MIN(size, (size_t)SIZE));
	r.helpers = &h;
	r.files = &files;
	r.target = self;
	regs.words[16] = (uintptr_t)ARENA + 512; /* rip, cs, rsp: struct pt_regs */
	regs.words[17] = 0x33;
	regs.words[19] = (uintptr_t)ARENA + 1024;
	replay_run(&r);
	if (r.frames.len > FRAMES)
		BUG("more than %d frames", FRAMES);
	replay_deinit(&r);
	return 0;
}
