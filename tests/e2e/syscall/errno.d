/* @@trigger: calls badclose 10 */
#pragma D option quiet
syscall::close:return /pid == $target && arg0 == -1 && arg1 == -1 && errno == 9/ { @ = count(); }
END { printa("%@d\n", @); }
