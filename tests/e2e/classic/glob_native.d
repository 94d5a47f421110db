/* What the older call has no text in, or a call that the program names, is read as Linux has it. */
/* @@trigger: forms open */
#pragma D option quiet
syscall::open*:entry /pid == $target && probefunc == "openat" && substr(copyinstr(arg1), 0, 4) == "/no/"/ { printf("arg1 %s\n", copyinstr(arg1)); }
syscall::open*:entry /pid == $target && probefunc == "open" && substr(copyinstr(arg0), 0, 4) == "/no/"/ { printf("arg0 %s\n", copyinstr(arg0)); }
syscall::openat*:entry /pid == $target && substr(copyinstr(arg1), 0, 4) == "/no/"/ { printf("openat* %s %s\n", probefunc, copyinstr(arg1)); }
