/* @@runtest-opts: -F */
/* @@trigger: calls getppid 2 */
/* Flow indentation: arrows for entry and return, a bar for other probes. */
syscall::getppid:entry, syscall::getppid:return /pid == $target/ { }
syscall::getppid:entry /pid == $target/ { printf("in %s", probefunc); }
END { trace("bye"); }
