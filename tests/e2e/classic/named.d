/* A script that names openat itself knows Linux: its open is open alone. */
/* @@trigger: forms open */
#pragma D option quiet
syscall::open:entry /pid == $target/ { @["open", probefunc] = count(); }
syscall::openat:entry /pid == $target && copyinstr(arg1) == "/no/openat"/ { @["openat", probefunc] = count(); }
END { printa("%s %s %@d\n", @); }
