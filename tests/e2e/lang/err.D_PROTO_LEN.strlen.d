/* @@runtest-opts: -x errtags */
BEGIN { trace(strlen()); }
