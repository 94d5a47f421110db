/* @@trigger: forms fork */
/* Children of a process, by what the calls are called elsewhere. */
#pragma D option quiet
#pragma D option strsize=64
uint64_t start[int];
#pragma D option bufsize=64k
syscall::forksys:return /pid == $target && arg1 > 0/ { child[arg1] = timestamp; kids++; }
syscall::rexit:entry /ppid == $target/ { @life[(timestamp - start[pid]) > 0 ? "ended" : ""] = count(); start[pid] = 0; }
syscall::waitsys:return /pid == $target && (int)arg1 > 0/ { waited++; @seen[child[arg1] != 0 ? "known" : "unknown"] = count(); }
syscall::waitsys:return /pid == $target && (int)arg1 == -1/ { printf("%d\n", errno == ECHILD); }
END { printf("%d kids, %d waited\n", kids, waited); printa(@life); printa(@seen); }
