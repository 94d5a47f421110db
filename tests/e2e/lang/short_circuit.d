/* && and || and ?: evaluate only what they need; ^^ evaluates both. */
#pragma D option quiet

int zero, n;
BEGIN { zero = 0; n = 0; printf("%d %d\n", zero && 1 / zero, !zero || 1 / zero); }
BEGIN { printf("%d\n", zero ? 1 / zero : 7); }
BEGIN { printf("%d %d ", 0 && n++, 1 || n++); printf("%d\n", n); }
BEGIN { printf("%d ", n++ ^^ ++n); printf("%d\n", n); }
BEGIN { printf("%d ", (n++, n * 2)); printf("%d\n", n); }
BEGIN { zero ? n = 100 : (n = 50); printf("%d\n", n); exit(0); }
