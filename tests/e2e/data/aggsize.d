/* @@runtest-opts: -x aggsize=16k */
/* @@trigger: calls getppid 2000 */
/* Keys beyond aggsize are dropped and counted. */
#pragma D option quiet

int n;
syscall::getppid:entry /pid == $target/ { @[n++] = count(); }
END { printf("%d\n", n); trunc(@); }
