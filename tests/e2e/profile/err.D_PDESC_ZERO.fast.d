/* @@runtest-opts: -x errtags */
/* faster than 5,000 a second is not made */
profile-5001 { exit(0); }
