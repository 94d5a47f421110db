/* As many at one time as option nspec says; the lowest free id first. */
/* @@runtest-opts: -q */
#pragma D option nspec=3
BEGIN { printf("%d %d %d", speculation(), speculation(), speculation()); printf(" %d\n", speculation()); }
BEGIN { speculate(1); printf("one\n"); }
BEGIN { speculate(2); printf("two\n"); }
BEGIN { speculate(3); printf("three\n"); }
BEGIN { commit(3); }
BEGIN { discard(1); }
BEGIN { commit(2); }
BEGIN { printf("%d\n", speculation()); exit(0); }
