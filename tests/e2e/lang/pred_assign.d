/* A constant that is assigned where a condition stands is warned of, and other assignments are not. */
#pragma D option quiet
BEGIN { x = 1; s = ""; }
BEGIN /x = 5/ { printf("%d", x); }
BEGIN /(x = pid) && x == 5/ { printf("never"); }
BEGIN { if (x = 6) printf(" %d", x); else printf(" never"); if (x == 6) printf(" %d\n", x); exit(0); }
