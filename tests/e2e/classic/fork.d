/* clone() is fork(), vfork() or a new thread; each returns twice. */
/* @@trigger: forms fork */
#pragma D option quiet
syscall::forksys:return /pid == $target && arg0 > 0/ { @["parent of a process", probefunc] = count(); }
syscall::forksys:return /ppid == $target/ { @["process", probefunc] = count(); }
syscall::vfork:return /pid == $target/ { @["vfork alone", probefunc] = count(); }
syscall::lwp_create:return /pid == $target/ { @[arg0 ? "parent of a thread" : "thread", probefunc] = count(); }
syscall::lwp_exit:entry /pid == $target/ { @["end of a thread", probefunc] = count(); }
syscall::rexit:entry /ppid == $target/ { @["end of a process", probefunc] = count(); }
END { printa("%s %s %@d\n", @); }
