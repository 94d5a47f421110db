/* What the C library calls in place of older calls. */
/* @@trigger: forms misc */
#pragma D option quiet
syscall::getrlimit:entry /pid == $target && arg0 == 4/ { printf("getrlimit %s %d\n", probefunc, arg1 != 0); }
syscall::setrlimit:entry /pid == $target && arg0 == 4/ { printf("setrlimit %s %d\n", probefunc, arg1 != 0); }
syscall::nanosleep:entry /pid == $target/ { printf("nanosleep %s %d\n", probefunc, args[0]->tv_nsec); }
syscall::select:entry /pid == $target/ { printf("select %s %d\n", probefunc, arg0); }
syscall::pollsys:entry /pid == $target/ { printf("pollsys %s %d\n", probefunc, arg1); }
syscall::pipe:entry /pid == $target/ { printf("pipe %s\n", probefunc); }
syscall::dup2:return /pid == $target/ { printf("dup2 %s %d\n", probefunc, arg0); }
syscall::accept:return /pid == $target/ { printf("accept %s %d\n", probefunc, errno == EBADF); }
syscall::lwp_kill:entry /pid == $target/ { printf("lwp_kill %s %d %d\n", probefunc, arg0 == $target, arg1); }
