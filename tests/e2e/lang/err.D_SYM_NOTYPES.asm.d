/* A function of the kernel written in assembler: the kernel has no type for it. */
BEGIN { trace((uint64_t)&`entry_SYSCALL_64 != 0); trace(`entry_SYSCALL_64); }
