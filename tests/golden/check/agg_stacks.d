/* Stacks of the kernel and of processes are keys of one aggregation (d-language.md 2.7): each argument has its kind. */
syscall::read:entry { @[stack()] = count(); }
syscall::write:entry { @[ustack(5)] = count(); @two[pid, ustack()] = count(); @two[1, stack(3)] = count(); }
syscall::read:return { @[jstack()] = count(); }
