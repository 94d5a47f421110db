#pragma D option version=1.0
BEGIN { trace(uid); trace(toupper("a")); x = 1; }
