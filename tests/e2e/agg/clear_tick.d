/* The per-second idiom: print, clear, again. */
#pragma D option quiet

int n;
tick-20ms { n++; @c[n] = count(); @s = sum(n); printa("%d:%@d ", @c); printa("%@d\n", @s); trunc(@c); clear(@s); }
tick-20ms /n == 3/ { exit(0); }
