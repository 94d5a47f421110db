/* @@exit: 1 */
/* ERROR gets the enabling, the action, the offset, the kind and the address */
#pragma D option quiet
BEGIN { trace(1); trace(*(char *)0x20); }
ERROR { printf("epid %d action %d kind %d value %x\n", arg1, arg2, arg4, arg5); exit(1); }
