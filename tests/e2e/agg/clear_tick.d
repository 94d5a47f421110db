/* The per-second idiom: print, clear, again. Ticks further apart than the consumer reads. */
#pragma D option quiet

int n;
tick-300ms { n++; @c[n] = count(); @s = sum(n); printa("%d:%@d ", @c); printa("%@d\n", @s); trunc(@c); clear(@s); }
tick-300ms /n == 3/ { exit(0); }
