/* @@trigger: calls threads 20 */
/* self-> belongs to one thread */
#pragma D option quiet
syscall::getppid:entry /pid == $target && self->seen == 0/ { self->seen = 1; @[tid == pid ? "main" : "thread"] = count(); }
END { printa("%s %@d\n", @); }
