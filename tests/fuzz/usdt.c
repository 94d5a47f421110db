/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: what programs say of their own probes. The first byte chooses the reader: an ELF
 * file's notes and their operands, DOF, the text of operands, helpers in DOF.
 */
#include "files/gate.h"
#include "usdt/dof_prog.h"
#include "usdt/note.h"
#include "usdt/operand.h"
#include "helper/helper.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void operands_check(const char *text)
{
	struct usdt_operands o;

	usdt_operands_parse(text, 0x1000, &(struct usdt_image){.word = 8}, &o);
	for (uint32_t i = 0; i < o.n; i++) {
		const struct usdt_operand *op = &o.list[i];

		if (op->size != 1 && op->size != 2 && op->size != 4 && op->size != 8)
			BUG("size %u", op->size);
		if (op->base > 160 || op->index > 160)
			BUG("register at %u, %u", op->base, op->index);
	}
}

static void dof_check(const uint8_t *data, size_t size)
{
	struct dof_index *ix = dof_index_create(data, size);
	struct arena *a = arena_create();
	struct dof_probe_info p;

	if (dof_index_find(ix, "myapp", "idle", a, &p))
		for (uint32_t i = 0; i < p.nxargs; i++)
			if (p.map[i] >= p.nargs || !p.xargs[i] || !p.args[p.map[i]])
				BUG("translated argument %u", i);
	arena_destroy(a);
	dof_index_destroy(ix);
}

static void helpers_check(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create();
	struct dof_prog *p;
	uint32_t n = 0;
	struct err *e = dof_progs_read(data, size, a, &p, &n);

	for (uint32_t i = 0; i < n && !e; i++)
		e = helper_check_carried(&p[i]);
	err_destroy(e);
	arena_destroy(a);
}

static void notes_check(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *copy = xmalloc(size + 1); /* libelf writes to it */
	struct usdt_notes notes;
	struct gate_elf g;

	memcpy(copy, data, size);
	gate_elf_memory(copy, size, GATE_LIMIT_DEFAULT, &g);
	usdt_notes_read(&g, &notes);
	for (uint32_t i = 0; i < notes.list.len; i++)
		operands_check(notes.list.data[i].args);
	dof_check(notes.dof.data, notes.dof.len);
	usdt_notes_deinit(&notes);
	gate_elf_close(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *text = NULL;

	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0: notes_check(data + 1, size - 1); break;
	case 1: dof_check(data + 1, size - 1); break;
	case 3: helpers_check(data + 1, size - 1); break;
	default:
		text = strndup((const char *)data + 1, size - 1);
		operands_check(text);
		break;
	}
	return 0;
}
