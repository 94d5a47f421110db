/* Modules of the provider on FreeBSD are ABIs. */
/* @@trigger: forms net */
#pragma D option quiet
syscall:freebsd:sendto:entry, syscall:freebsd:thr_exit:entry, syscall:freebsd:recv*:entry /pid == $target/ { printf("%s %d\n", probefunc, arg2); }
