/* @@exit: 3 */
/* exit() in ERROR. */
#pragma D option quiet

BEGIN { trace(*(char *)NULL); }
ERROR { printf("%s %s %d %d\n", probeprov, probename, arg4 == DTRACEFLT_BADADDR, arg5); exit(3); }
