/* Calls with paths, in the form of those without directory descriptors. */
/* @@trigger: forms paths */
#pragma D option quiet
syscall::unlink:entry, syscall::rmdir:entry, syscall::mkdir:entry, syscall::chown:entry, syscall::readlink:entry, syscall::mknod:entry,
syscall::exece:entry, syscall::access:entry
/pid == $target && substr(copyinstr(arg0), 0, 4) == "/no/"/ { printf("%s %s\n", probefunc, copyinstr(arg0)); }
syscall::rename:entry, syscall::link:entry, syscall::symlink:entry
/pid == $target/ { printf("%s %s %s\n", probefunc, copyinstr(arg0), copyinstr(arg1)); }
syscall::rmdir:entry /pid == $target/ { @["rmdir"] = count(); }
syscall::unlink:entry /pid == $target/ { @["unlink"] = count(); }
END { printa("%s %@d\n", @); }
