/* All that can be done with an id (d-language.md 8.4). */
/* @@runtest-opts: -q */
BEGIN { sp = speculation(); printf("id %d\n", sp); }
BEGIN { speculate(sp); printf("first %s %d\n", probename, 1); }
BEGIN { printf("second is first\n"); }
BEGIN { printf("no more: %d\n", speculation()); }
BEGIN { speculate(sp); printf("%s\n", "third"); }
BEGIN { commit(sp); }
BEGIN { speculate(sp); printf("not reached: committed\n"); }
BEGIN { commit(sp); discard(sp); discard(0); }
BEGIN { commit(0); }
BEGIN { sp = speculation(); printf("id %d\n", sp); }
BEGIN { speculate(sp); printf("not reached: discarded\n"); }
BEGIN { discard(sp); }
BEGIN { commit(sp); }
BEGIN { speculate(0); printf("not reached: 0\n"); }
BEGIN { sp = speculation(); printf("id %d\n", sp); }
BEGIN { speculate(sp); printf("committed by END\n"); }
BEGIN { speculate(2); printf("not reached: no such id\n"); }
BEGIN { commit(-1); }
BEGIN { discard(2); }
ERROR { printf("fault %d\n", arg4); }
BEGIN { exit(0); }
END { printf("end\n"); }
END { commit(sp); }
