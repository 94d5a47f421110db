/* What no printa() printed is printed at the end, in the order of the program. */
#pragma D option quiet

BEGIN { @second = sum(2); @first["a"] = count(); @printed = sum(9); @nothing = count(); @none["x"] = count(); }
BEGIN { printa("%@d\n", @printed); trunc(@none); trunc(@nothing); exit(0); }
