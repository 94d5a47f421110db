/* Dynamic options change while the program runs. */
#pragma D option quiet
BEGIN { printf("quiet\n"); setopt("quiet", "no"); }
BEGIN { trace("loud"); setopt("quiet"); }
BEGIN { @[1] = count(); @[2] = count(); @[2] = count(); setopt("aggsortrev"); printa("%d %@d\n", @); setopt("nosuch"); exit(0); }
