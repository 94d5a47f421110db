/* SPDX-License-Identifier: MIT */
/* Fuzz target: an ELF file's unwind rows, and the rules that the kernel's side gets of them. */
#include "image/ehframe.h"
#include "elf_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_rows r;

	unwind_rows_read_memory(data, size, &r);
	check_rows(&r);
	return 0;
}
