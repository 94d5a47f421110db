/* Ticks of different periods count their own time. */
#pragma D option quiet

int fast, slow;
tick-10ms { fast++; }
tick-50ms { slow++; }
tick-50ms /slow == 4/ { printf("%s %d\n", fast >= 12 && fast <= 30 ? "about five to one" : "odd", slow); exit(0); }
