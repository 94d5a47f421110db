BEGIN { printf("x", 1); printf("%d", 1, 2); }
