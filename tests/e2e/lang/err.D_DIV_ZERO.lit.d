/* @@runtest-opts: -x errtags */
BEGIN { trace(1 / 0); }
