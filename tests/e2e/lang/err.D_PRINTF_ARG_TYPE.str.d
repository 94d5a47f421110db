/* @@runtest-opts: -x errtags */
BEGIN { printf("%s", 1); }
