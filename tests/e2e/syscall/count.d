/* @@trigger: calls getppid 1000 */
#pragma D option quiet
syscall::getppid:entry /pid == $target/ { @n = count(); }
syscall::getppid:return /pid == $target && arg0 == arg1 && errno == 0/ { @r = count(); }
END { printa("entry %@d\n", @n); printa("return %@d\n", @r); }
