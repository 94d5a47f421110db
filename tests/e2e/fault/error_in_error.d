#pragma D option quiet
BEGIN { trace(*(char *)0x20); }
ERROR { trace(*(char *)0x30); }
BEGIN { exit(0); }
