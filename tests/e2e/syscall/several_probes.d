/* One clause at several probes; probefunc and probename tell which. */
/* @@trigger: calls getppid 2 */
#pragma D option quiet

syscall::getppid:entry, syscall::getppid:return, syscall::exit_group:entry /pid == $target/ { printf("%s %s %s %s\n", probeprov, probemod, probefunc, probename); }
syscall::get*pid:entry, syscall::?etppid:return /pid == $target/ { @[probefunc, probename] = count(); }
END { printa("%s %s %@d\n", @); }
