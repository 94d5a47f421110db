/* Built-in variables and expressions as keys. */
/* @@trigger: calls getppid 3 */
#pragma D option quiet

syscall::getppid:entry /pid == $target/ { @[execname, probefunc, probename, probeprov, pid == $target, uid == $uid, cpu >= 0, arg0 - arg0] = count(); }
END { printa("%s %s %s %s %d %d %d %d %@d\n", @); }
