/* @@runtest-opts: -x errtags */
BEGIN { printf("%d"); }
