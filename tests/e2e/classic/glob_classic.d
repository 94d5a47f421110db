/* Option syscallview: globs see calls in the form of older ones, each once. */
/* @@trigger: forms open */
#pragma D option quiet
#pragma D option syscallview=classic
syscall::open*:entry /pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { @[probefunc, copyinstr(arg0)] = count(); }
syscall::open*:return /pid == $target && errno == ENOENT/ { @[probefunc, "returns"] = count(); }
END { printa("%s %s %@d\n", @); }
