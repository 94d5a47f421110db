/* Globs see native arguments, and each call once. */
/* @@trigger: forms open */
#pragma D option quiet
syscall::open*:entry /pid == $target && arg0 == (uint32_t)-100 && substr(copyinstr(arg1), 0, 4) == "/no/"/ { printf("%s %s\n", probefunc, copyinstr(arg1)); @n = count(); }
syscall::*open*nocancel:entry /pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { printf("nocancel %s %s\n", probefunc, copyinstr(arg0)); }
END { printa("%@d\n", @n); }
