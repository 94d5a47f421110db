/* an empty clause records the firing; one that records nothing prints nothing */
BEGIN { }
BEGIN { x = 1; }
BEGIN { exit(0); }
