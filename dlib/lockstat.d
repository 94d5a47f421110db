/* Locks: how a readers-writer lock is asked for. */
inline int RW_WRITER = 0;
inline int RW_READER = 1;
