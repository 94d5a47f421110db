/* The same stack is one key, whoever records it; different depths are different keys */
/* @@runtest-opts: -q */
/* @@trigger: chain 4 */
/* @@needs: kernel */
syscall::getppid:entry /pid == $target/ { @[ustack(2)] = count(); @k[stack(3), ustack(3), 1] = count(); }
syscall::getppid:entry /pid == $target/ { @[ustack(2)] = count(); }
syscall::getppid:return /pid == $target/ { @[ustack(3)] = count(); }
ERROR { @[ustack(1)] = count(); }
syscall::getppid:return /pid == $target/ { trace(*(char *)0); }
END { printa("%k%@d\n", @); printa("%k%k%d %@d\n", @k); }
