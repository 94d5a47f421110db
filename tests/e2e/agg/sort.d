/* @@runtest-opts: -x aggsortkey -x aggsortrev */
#pragma D option quiet
BEGIN { @["a"] = sum(3); @["c"] = sum(1); @["b"] = sum(2); exit(0); }
END { printa("%s %@d\n", @); }
