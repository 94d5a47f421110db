/* @@trigger: calls getppid 2 */
/* @@runtest-opts: -F */
syscall::getppid:entry, syscall::getppid:return /pid == $target/ { }
