/* lx-syscall: results as the kernel has them (providers.md 4.8). */
/* @@trigger: forms open */
#pragma D option quiet
lx-syscall::creat:entry /pid == $target/ { printf("%s\n", copyinstr(arg0)); }
lx-syscall::creat:return /pid == $target/ { printf("%s %s %d %d\n", probeprov, probefunc, arg0 == -ENOENT, arg1 == -ENOENT); }
syscall::creat:return /pid == $target/ { printf("%d %d\n", arg0, errno == ENOENT); }
