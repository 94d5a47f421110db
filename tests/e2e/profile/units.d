/* All units name the same time. */
#pragma D option quiet

int n; tick-10ms, tick-10000us, tick-10000000ns, tick-100hz, tick-100 { @[probename] = count(); n++; }
tick-100ms { exit(0); }
END { clear(@); printa("%s %@d\n", @); }
