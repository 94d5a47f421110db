/* SPDX-License-Identifier: MIT */
/* Debug information of the grammar: lines, and the tables of DWARF 5. */
#include <dwarf.h>

#include "elf_make.h"

/* ---- lines --------------------------------------------------------------------------------------
 */

/* Folders and files in the form of DWARF 5: their names are in .debug_line_str, or stand here. */
static void files_put(struct tape *t, struct dwarf_sections *d, struct strbuf *out)
{
	uint8_t how = tape_u8(t);
	uint32_t form = how & 1 ? DW_FORM_line_strp : DW_FORM_string;

	for (int is_file = 0; is_file < 2; is_file++) {
		bytes_put(out, how & 2 ? 2 : 1, 1);
		bytes_put_uleb(out, DW_LNCT_path);
		bytes_put_uleb(out, form);
		if (how & 2) {
			bytes_put_uleb(out, DW_LNCT_directory_index);
			bytes_put_uleb(out, DW_FORM_udata);
		}
		bytes_put_uleb(out, how % 64 == 63 ? tape_number(t) : 2);
		for (int i = 0; i < 2; i++) {
			if (form == DW_FORM_string)
				bytes_put_name(out, is_file ? "a.c" : "dir");
			else
				bytes_put(out,
					  how % 16 == 15 ? tape_number(t) : d->line_str.len / 2, 4);
			if (how & 2)
				bytes_put_uleb(out, how & 4 ? tape_u8(t) : 0);
		}
	}
}

void dwarf_lines_make(struct tape *t, uint32_t word, struct dwarf_sections *d)
{
	struct strbuf *out = &d->line;
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	size_t head = out->len, program, length_at;
	bool is_new = tape_u8(t) & 1; /* DWARF 5 */

	bytes_put(out, 0, 4);
	bytes_put(out, is_new ? 5 : 4, 2);
	if (is_new)
		bytes_put(out, word, 2); /* and no segment selectors */
	length_at = out->len;
	bytes_put(out, 0, 4);
	bytes_put(out, 0x0101, 2); /* of an instruction, of operations in one */
	bytes_put(out, 1, 1);
	bytes_put(out, 0xfb, 1);
	bytes_put(out, 14, 1);
	bytes_put(out, 13, 1);
	strbuf_add(out, (const char *)lengths, sizeof(lengths));
	if (is_new) {
		files_put(t, d, out);
	} else {
		bytes_put_name(out, "dir");
		bytes_put(out, 0, 1);
		bytes_put_name(out, "a.c");
		bytes_put(out, 0, 3);
		bytes_put(out, 0, 1);
	}
	program = out->len;
	bytes_patch(out, length_at, program - length_at - 4, 4);
	bytes_put(out, 0x020000 | (word + 1) << 8, 3); /* DW_LNE_set_address */
	bytes_put(out, CODE_ADDR, word);
	while (t->p < t->end)
		bytes_put(out, tape_u8(t), 1);
	bytes_put(out, 0x010100, 3); /* DW_LNE_end_sequence */
	bytes_patch(out, head, out->len - head - 4, 4);
}

/* ---- tables -----------------------------------------------------------------------------------
 */

/* The heads of the sections of DWARF 5, and what has an index. */
void dwarf_tables_make(struct tape *t, uint32_t word, struct dwarf_sections *out)
{
	bytes_put(&out->loclists, 0, 4); /* patched when all is there */
	bytes_put(&out->loclists, word << 16 | 5, LISTS_HEAD - 4);
	bytes_put(&out->rnglists, 0, 4);
	bytes_put(&out->rnglists, (uint64_t)1 << 32 | word << 16 | 5, LISTS_HEAD - 4);
	bytes_put(&out->rnglists, 4, 4); /* the first list stands behind this offset */
	bytes_put(&out->addr, 4 + NINDEXED * word, 4);
	bytes_put(&out->addr, word << 16 | 5, 4);
	bytes_put(&out->str_offsets, 4 + NINDEXED * 4, 4);
	bytes_put(&out->str_offsets, 5, 4);
	for (uint32_t i = 0; i < NINDEXED; i++) {
		bytes_put(&out->addr, CODE_ADDR + i * 64, word);
		bytes_put(&out->str_offsets, i == 7 ? tape_number(t) : i * 4, 4);
		bytes_put_name(&out->line_str, tape_name(t));
	}
	if (tape_u8(t) % 8 == 7) /* the last string has no end */
		out->line_str.len--;
}
