/* @@runtest-opts: -x dynvarsize=16k */
/* @@trigger: calls getppid 2000 */
/* Elements beyond dynvarsize are dropped and counted; what is there stays. */
#pragma D option quiet

int n;
syscall::getppid:entry /pid == $target/ { a[n] = n + 1; n++; }
END { printf("%d %d %d\n", n, a[0], a[1999]); }
