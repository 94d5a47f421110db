/* @@runtest-opts: -x errtags */
BEGIN { x = 1; x = "a"; }
