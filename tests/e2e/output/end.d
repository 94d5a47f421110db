/* @@exit: 3 */
#pragma D option quiet
BEGIN { x = 5; exit(3); }
END { printf("end %d\n", x); }
