/* fork* matches fork(), which nobody calls, and clone() where it makes a process. */
/* @@trigger: forms fork */
#pragma D option quiet
syscall::fork*:return /pid == $target && arg1 > 0/ { @[probefunc] = count(); }
END { printa("%s %@d\n", @); }
