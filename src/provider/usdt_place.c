/* SPDX-License-Identifier: MIT */
/*
 * Whether an instruction begins where the note of a probe says.
 *
 * A note is a claim of the file. A breakpoint inside an instruction changes what the program does,
 * and it stays in the file for the programs that the process executes. So the code is decoded from
 * where a function begins, by a symbol with a size or by an entry of .eh_frame, up to the note.
 *
 * Notes are asked about in the order of their addresses, so most functions are decoded once. A
 * hostile file could have a function of its own for each note, each as long as its code: at most
 * DECODE_MAX bytes are decoded for a file, and what is left is not known.
 */
#include "privilege/privilege.h"
#include "provider/usdt.h"

#define FUNCTION_MAX (1u << 20)	 /* bytes of a function that is decoded */
#define DECODE_MAX   (32u << 20) /* bytes that are decoded for one file */

static void entries_read(struct usdt_places *p, struct gate_elf *g)
{
	p->has_entries = true;
	if (g->elf)
		(void)unwind_fdes_read(g, &p->entries); /* if some are missing, less is known */
	unwind_fdes_sort(&p->entries);
}

/* Finds a function that the address is in; false: the file does not say. */
static bool function_at(struct usdt_places *p, const struct usdt_object *o, struct gate_elf *g,
			uint64_t addr, uint64_t *ret_addr, uint64_t *ret_size)
{
	const struct func *fn = funcs_at(o->file->funcs, addr);
	const struct unwind_fde *fde;

	if (fn && fn->is_sized) {
		*ret_addr = fn->addr;
		*ret_size = fn->size;
		return true;
	}
	if (!p->has_entries)
		entries_read(p, g);
	fde = unwind_fdes_find(&p->entries, addr);
	if (!fde)
		return false;
	*ret_addr = fde->addr;
	*ret_size = fde->size;
	return true;
}

static bool function_decode(struct usdt_places *p, struct usdt_object *o, uint64_t addr,
			    uint64_t size)
{
	const uint8_t *code;
	uint64_t off;

	if (p->has_function && p->addr == addr && p->size == size)
		return true;
	if (size > FUNCTION_MAX || p->ndecoded + size > DECODE_MAX ||
	    !funcs_off(o->file->funcs, addr, &off))
		return false;
	code = text_at(&o->file->image->text, off, size);
	if (!code)
		return false;
	if (p->has_function)
		insns_deinit(&p->insns);
	p->has_function = true;
	p->addr = addr;
	p->size = size;
	p->ndecoded += size;
	insns_decode(code, (uint32_t)size, o->file->file.is_32bit, &p->insns);
	return true;
}

enum usdt_place usdt_place_check(struct usdt_places *p, struct usdt_object *o, struct gate_elf *g,
				 uint64_t pc)
{
	uint64_t addr, size;

	if (!function_at(p, o, g, pc, &addr, &size) || !function_decode(p, o, addr, size))
		return USDT_PLACE_UNKNOWN;
	if (insns_find(&p->insns, (uint32_t)(pc - addr)))
		return USDT_PLACE_BEGIN;
	return p->insns.is_partial ? USDT_PLACE_UNKNOWN : USDT_PLACE_INSIDE;
}

void usdt_places_deinit(struct usdt_places *p)
{
	if (p->has_function)
		insns_deinit(&p->insns);
	vec_deinit(&p->entries);
}
