/* @@trigger: calls write 50 */
/* every system call of the target is seen, by name and by glob, once */
#pragma D option quiet
syscall:::entry /pid == $target && probefunc == "write"/ { @a = count(); }
syscall::wri*e:entry /pid == $target/ { @b = count(); }
syscall:vmlinux:write:entry /pid == $target/ { @c[probeprov, probemod, probefunc, probename] = count(); }
END { printa("%@d\n", @a); printa("%@d\n", @b); printa("%s:%s:%s:%s %@d\n", @c); }
