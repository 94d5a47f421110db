/* SPDX-License-Identifier: MIT */
/* Names over a core file are those of the process that it was made of. */
#include "../target/core_file.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "sym/sym.h"
#include "tap.h"

#include <inttypes.h>

static char core_path[] = "/tmp/unit_sym_target.XXXXXX";

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void test_address(struct syms *s, uint64_t pid, uint64_t core, taddr addr, const char *what)
{
	struct sym_name a, b;
	struct sym_line la, lb;
	bool has_a = syms_find_caller(s, pid, addr, &a),
	     has_b = syms_find_caller(s, core, addr, &b);

	if (!ok(has_a == has_b && is_same_text(a.object, b.object) &&
			is_same_text(a.name, b.name) && a.off == b.off &&
			a.file_addr == b.file_addr && a.has_file_addr == b.has_file_addr,
		"%s: %s`%s", what, a.object ? a.object : "-", a.name ? a.name : "-"))
		printf("# of the core file: %s`%s+0x%" PRIx64 "\n", b.object ? b.object : "-",
		       b.name ? b.name : "-", b.off);
	ok(syms_line(s, pid, addr, &la) == syms_line(s, core, addr, &lb) &&
		   syms_start(s, pid, addr, false) == syms_start(s, core, addr, false) &&
		   syms_start(s, pid, addr, true) == syms_start(s, core, addr, true),
	   "%s: its line, where it begins", what);
}

/* Where a file is another one by now, the object has a name, and its functions have none. */
static void test_stale(struct syms *s, struct gate *gate)
{
	struct sym_name name;
	struct target *c;
	uint64_t core;

	if (!ok(!target_core_open(core_path, gate, &c), "the core file once more"))
		return;
	for (uint32_t i = 0; i < target_maps(c)->maps.len; i++)
		target_maps(c)->maps.data[i].is_stale = true;
	core = syms_target(s, c);
	ok(syms_find(s, core, (taddr)(uintptr_t)&wait_here, &name) && name.object && !name.name,
	   "of another file than it was, only the object has a name");
	target_close(c);
}

int main(void)
{
	struct gate *gate = gate_create();
	struct image_set *images = image_set_create();
	struct file_opts files = {DEBUG_DIRS_DEFAULT, GATE_LIMIT_DEFAULT, gate, images};
	pid_t pid = waiters_start();
	struct syms *s = syms_create();
	struct target *t = NULL, *c = NULL;
	struct sym_name name;
	int fd = mkstemp(core_path);
	struct arch_regs regs = {0};
	uint64_t core;
	struct err *e;

	syms_set_opts(s, &(struct sym_opts){.files = &files});
	e = target_hold(pid, gate, &t);
	if (!ok(!e && core_write(t, core_path, NULL) && !target_core_open(core_path, gate, &c),
		"a core file"))
		return tap_done();
	err_destroy(target_regs(t, pid, &regs));
	is_int(syms_target(s, t), pid, "a process that lives has its own number");
	core = syms_target(s, c);
	ok((pid_t)core < 0 && (uint64_t)(pid_t)core == core, "a core file has one that none has");
	target_close(c);
	test_address(s, (uint64_t)pid, core, (taddr)(uintptr_t)&wait_here + 1, "a function");
	test_address(s, (uint64_t)pid, core, (taddr)(uintptr_t)&marker + 1, "a variable");
	test_address(s, (uint64_t)pid, core, regs.words[16], "where it waits, in the C library");
	test_address(s, (uint64_t)pid, core, regs.words[19], "its stack");
	test_address(s, (uint64_t)pid, core, 16, "nothing");
	target_close(t);
	syms_tick(s);
	waiters_end(pid);
	ok(syms_find(s, core, (taddr)(uintptr_t)&wait_here, &name) && name.name &&
		   !strcmp(name.name, "wait_here"),
	   "later, when the process has ended");
	syms_lost(s);
	ok(syms_find(s, core, (taddr)(uintptr_t)&wait_here, &name) && name.name,
	   "when events were lost");
	test_stale(s, gate);
	syms_destroy(s);
	(void)unlink(core_path);
	(void)close(fd);
	image_set_destroy(images);
	gate_destroy(gate);
	return tap_done();
}
