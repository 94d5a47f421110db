/* The same for 32-bit calls, whose arguments are in other registers. */
/* @@needs: int80 */
/* @@trigger: forms compat */
#pragma D option quiet
syscall::open:entry, syscall::stat:entry, syscall::lstat:entry
/pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { printf("%s %s %d\n", probefunc, copyinstr(arg0), probefunc == "openat" ? arg1 : 0); }
syscall::lstat:entry /pid == $target/ { printf("lstat: %s\n", copyinstr(arg0)); }
