/* @@runtest-opts: -x errtags */
nosuch:::probe { exit(0); }
