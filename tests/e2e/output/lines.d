/* One line for every clause that records something or has no statements; none for the others. */
BEGIN { printf("printf\n"); }
BEGIN { }
BEGIN { x = 1; }
BEGIN { @ = count(); }
BEGIN /0/ { trace("no"); }
BEGIN { trace(1); trace("two"); trace(3L); }
BEGIN { printa(@); }
BEGIN { exit(0); }
END { printf("at the end"); }
