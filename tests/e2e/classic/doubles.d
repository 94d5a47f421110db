/* Several descriptions of one clause that match a call under its own and another name: once a call. */
/* @@trigger: forms open */
#pragma D option quiet
syscall::open_nocancel:entry, syscall::open64:entry, syscall::open*:entry /pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { @[probefunc, "entry"] = count(); }
syscall::open_nocancel:return, syscall::open*:return /pid == $target && errno && probefunc != "openat"/ { @[probefunc, "return"] = count(); }
END { printa("%s %s %@d\n", @); }
