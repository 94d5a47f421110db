/* The per-second idiom: print, clear, again. The next tick counts when the consumer has done what the last one asked for: its system() has run. */
/* @@runtest-opts: -w */
#pragma D option quiet

int n, done;
BEGIN { done = 1; }
syscall::exit_group:entry /ppid == $pid/ { done = 1; }
tick-10ms /done/ { done = 0; n++; @c[n] = count(); @s = sum(n); printa("%d:%@d ", @c); printa("%@d\n", @s); trunc(@c); clear(@s); system("exit 0"); }
tick-10ms /n == 3/ { exit(0); }
