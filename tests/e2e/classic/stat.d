/* fstat() and lstat() of today's C libraries are newfstatat(), told apart by flags. */
/* @@trigger: forms stat */
#pragma D option quiet
syscall::stat:entry, syscall::stat64:entry, syscall::xstat:entry
/pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { printf("stat %s %s\n", probefunc, copyinstr(arg0)); }
syscall::lstat:entry, syscall::lstat64:entry
/pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { printf("lstat %s %s\n", probefunc, copyinstr(arg0)); }
syscall::fstat:entry, syscall::fxstat:entry
/pid == $target && arg0 > 700/ { printf("fstat %s %d\n", probefunc, arg0); }
syscall::fstat:return /pid == $target && errno == EBADF/ { printf("fstat %s fails\n", probefunc); }
