/* every CPU fires; exactly one of arg0 and arg1 is set */
#pragma D option quiet
profile-997 { @[cpu] = count(); @bad = sum((arg0 == 0) == (arg1 == 0)); }
tick-500ms { exit(0); }
END { printa("bad %@d\n", @bad); printa("cpu %d\n", @); }
