/* What a handler returns to has no name in a stripped C library: it is called what gdb calls it. */
/* @@runtest-opts: -q -x debugdir=/nowhere */
/* @@trigger: edges */
syscall::getppid:entry
/pid == $target/
{
	ustack(4);
}
