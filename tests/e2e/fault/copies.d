/* Where a fault happened: an instruction's offset, or none when what an address points to was copied to the record (7.1). */
/* @@runtest-opts: -q */
BEGIN { trace(*(int *)0x10); }
BEGIN { trace(stringof((char *)0x20)); }
BEGIN { printf("%d %s", 1, stringof((char *)0x30)); }
BEGIN { tracemem(0x40, 10); }
BEGIN { trace(copyinstr(0x1000)); }
BEGIN { @[stringof((char *)0x50)] = count(); }
BEGIN /stringof((char *)0x60) == "a"/ { trace(1); }
BEGIN { exit(0); }
ERROR { printf("%d %d %x\n", arg2, arg3, arg5); }
