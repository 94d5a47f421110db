/* @@runtest-opts: -x errtags */
BEGIN { printf("x", 1); }
