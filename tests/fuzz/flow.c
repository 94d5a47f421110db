/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the control flow of an ELF file, and the windows that plans for it have. The first
 * byte chooses whether the rest is a file, or a tape of the grammar (elf_make.h) with code from its
 * end.
 */
#include <sys/mman.h>

#include "elf_make.h"
#include "files/gate.h"
#include "flow/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT	  ((uint64_t)1 << 20)
#define SITES_MAX 512

/* A window is in the code, and its bytes are those of the file. */
static void window_check(const struct flow *f, const struct flow_window *w, uint32_t nsites)
{
	uint32_t size = MAX(w->len, w->jump);
	const uint8_t *code = flow_code(f, w->addr, size);

	if (!code || size > FLOW_WINDOW_MAX || memcmp(code, w->old, size) != 0)
		BUG("window at %#lx", (unsigned long)w->addr);
	if (w->len < w->jump && !w->ends)
		BUG("window at %#lx goes on in its jump", (unsigned long)w->addr);
	if (!w->nins || w->nins > FLOW_INSNS_MAX || w->ins[0] || !w->nbodies)
		BUG("instructions of the window at %#lx", (unsigned long)w->addr);
	for (uint32_t i = 1; i < w->nins; i++)
		if (w->ins[i] <= w->ins[i - 1] || w->ins[i] >= w->len)
			BUG("instruction %u at %u", i, w->ins[i]);
	for (uint32_t i = 0; i < w->nbodies; i++)
		if (w->bodies[i].off >= w->len || w->bodies[i].site >= nsites)
			BUG("body %u at %u", i, w->bodies[i].off);
	for (uint32_t i = 0; i < w->nbodies; i++)
		if (w->bodies[i].has_tail && !w->tail.len)
			BUG("window at %#lx has no tail", (unsigned long)w->addr);
	code = w->tail.len ? flow_code(f, w->tail.addr, w->tail.len) : w->tail.old;
	if (!code || w->tail.len > FLOW_TAIL_MAX || memcmp(code, w->tail.old, w->tail.len) != 0)
		BUG("tail at %#lx", (unsigned long)w->tail.addr);
	if (w->tail.len && w->tail.addr < w->addr + w->jump && w->tail.addr + w->tail.len > w->addr)
		BUG("the jump at %#lx is in its tail", (unsigned long)w->addr);
	code = w->jump == FLOW_JUMP_SHORT ? flow_code(f, w->pad, FLOW_JUMP) : w->old;
	if (!code)
		BUG("padding at %#lx", (unsigned long)w->pad);
}

static void plan_check(const struct flow *f, const struct flow_site *sites, uint32_t n,
		       bool at_entry)
{
	struct flow_opts opts = {.at_entry = at_entry};
	struct flow_plan p, again;
	uint64_t end = 0;

	if (flow_plan(f, sites, n, &opts, &p))
		BUG("no plan");
	for (uint32_t i = 0; i < p.windows.len; i++) {
		const struct flow_window *w = &p.windows.data[i];

		window_check(f, w, n);
		if (w->addr < end)
			BUG("windows overlap at %#lx", (unsigned long)w->addr);
		end = w->addr + MAX(w->len, w->jump);
	}
	opts.taken = p.windows.data;
	opts.ntaken = p.windows.len;
	if (flow_plan(f, sites, n, &opts, &again))
		BUG("windows of the same file");
	flow_plan_deinit(&again);
	flow_plan_deinit(&p);
}

struct functions {
	const struct flow *f;
	flow_sites sites;
};

static void function_add(void *ctx, uint64_t addr, uint64_t size)
{
	struct functions *fs = ctx;

	if (fs->sites.len >= SITES_MAX)
		return;
	vec_push(&fs->sites, (struct flow_site){addr, FLOW_ENTRY});
	flow_exits(fs->f, addr, &fs->sites);
	vec_push(&fs->sites, (struct flow_site){addr + size / 2, FLOW_OFFSET});
}

static void image_check(const char *image, size_t size)
{
	CLEANUP(fd) int fd = memfd_create("flow", MFD_CLOEXEC);
	struct functions fs = {0};
	struct gate_file *file;
	struct flow *f = NULL;
	struct flow_census n;
	struct err *e;

	if (fd < 0 || write(fd, image, size) != (ssize_t)size)
		exit(1);
	file = gate_file_of(fd);
	e = flow_create(file, LIMIT, &f);
	gate_file_close(file);
	if (e) {
		err_destroy(e);
		return;
	}
	if (flow_census(f, &n))
		BUG("no census");
	if (flow_size(f) > 64 * (uint64_t)size + LIMIT)
		BUG("%zu bytes take %lu", size, (unsigned long)flow_size(f));
	fs.f = f;
	flow_each(f, function_add, &fs);
	plan_check(f, fs.sites.data, fs.sites.len, false);
	plan_check(f, fs.sites.data, fs.sites.len, true);
	vec_deinit(&fs.sites);
	flow_destroy(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf image = {0};
	struct tape t = {data + 1, data + size};

	if (!size)
		return 0;
	if (data[0] % 2 == 0) {
		image_check((const char *)data + 1, size - 1);
		return 0;
	}
	elf_make(&t, KIT_SYMTAB | KIT_DYNSYM | KIT_EH_FRAME, &image);
	for (size_t i = 0; i < CODE_SIZE && CODE_ADDR - CODE_BIAS + i < image.len; i++)
		image.data[CODE_ADDR - CODE_BIAS + i] = (char)data[size - 1 - i % size];
	image_check(image.data, image.len);
	strbuf_deinit(&image);
	return 0;
}
