/* Option syscallview: globs see calls in the form of older ones, each once. */
/* @@trigger: forms open */
#pragma D option quiet
#pragma D option syscallview=classic
syscall::open*:entry /pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { @[probefunc, copyinstr(arg0)] = count(); self->on = 1; }
syscall::open*:return /self->on/ { @[probefunc, "returns"] = count(); self->on = 0; }
END { printa("%s %s %@d\n", @); }
