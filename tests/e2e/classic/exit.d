/* @@trigger: forms exit */
#pragma D option quiet
syscall::rexit:entry /pid == $target/ { printf("rexit %s %d\n", probefunc, arg0); }
syscall::exit:entry /pid == $target/ { printf("exit %s %d\n", probefunc, arg0); }
