/* Fuzz target: an ELF file's unwind rows, and the rules that the kernel's side gets of them. */
#include "bpf/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_rows r;

	unwind_rows_read_memory(data, size, &r);
	for (uint32_t i = 0; i < r.rows.len; i++) {
		const struct unwind_row *row = &r.rows.data[i];

		if (i && row->off <= row[-1].off)
			BUG("row %u does not ascend", i);
		if (row->kind >= UNWIND_NKINDS)
			BUG("row %u is of kind %d", i, row->kind);
		if (RT_RULE_KIND(urule_pack(row)) > UNWIND_END)
			BUG("row %u becomes a rule of another kind", i);
	}
	if (r.rows.len && vec_last(&r.rows)->kind != UNWIND_NONE)
		BUG("the last row ends nowhere");
	unwind_rows_deinit(&r);
	return 0;
}
