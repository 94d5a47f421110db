/* Ticks of different periods count their own time. What a CPU that was taken away has missed is lost: until a while was undisturbed. */
#pragma D option quiet

int fast, slow, windows, right;
tick-10ms { fast++; }
tick-50ms { slow++; }
tick-50ms /slow == 4/ { right = fast >= 12 && fast <= 30; windows++; fast = 0; slow = 0; }
tick-50ms /right || windows == 100/ { printf("%s\n", right ? "about five to one" : "odd"); exit(0); }
