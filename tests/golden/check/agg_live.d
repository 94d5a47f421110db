/* Objects that are alive, by key: live() and dead(). */
uint64_t size;
BEGIN { size = 3; @alive[execname, pid] = live(0x1000, size * 2); @ = live(arg0, 1); }
END { dead(0x1000); dead(0x2000, timestamp); }
