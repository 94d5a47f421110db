/* @@runtest-opts: -x errtags */
BEGIN { trace(foo); }
