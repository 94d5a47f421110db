/* DTRACEFLT_* tell the kinds apart. */
#pragma D option quiet

int zero, big;
BEGIN { trace(1 / zero); }
BEGIN { trace(*(int *)0x10); }
BEGIN { big = 100000000; trace(alloca(big)); }
BEGIN { trace(inet_ntop(99, alloca(16))); }
BEGIN { trace(lltostr(5, 99)); }
BEGIN { trace(copyinstr(1)); }
BEGIN { exit(0); }
ERROR { printf("%s\n", arg4 == DTRACEFLT_DIVZERO ? "divide" : arg4 == DTRACEFLT_BADADDR ? "address" : arg4 == DTRACEFLT_NOSCRATCH ? "scratch" : arg4 == DTRACEFLT_ILLOP ? "illegal" : "?"); }
