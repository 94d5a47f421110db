/* SPDX-License-Identifier: MIT */
/* The blob of machines for which there is none: clauses run in the kernel alone. */
#include "native/blob.h"

const u8 blob_code[] = {0};
const u32 blob_code_size = 0;
const u32 blob_entries[BLOB_NFUNCS];
