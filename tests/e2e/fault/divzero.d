#pragma D option quiet
BEGIN { x = 0; y = 5; }
BEGIN /y / x == 1/ { printf("never\n"); }
BEGIN { trace(y % x); }
BEGIN { exit(0); }
