#pragma D option quiet
BEGIN { trace(10); trace("abc"); exit(0); }
