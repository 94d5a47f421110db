/* A frame is named after the call it is in, an interrupted one after where it stands; the caller of a function at its first instruction. */
/* @@foreign */
/* @@runtest-opts: -q */
/* @@trigger: edges */
syscall::getppid:entry
/pid == $target/
{
	ustack();
}

pid$target:a.out:idle:entry
/!n++/
{
	ustack(3);
	printf("%A\n", ufunc(ucaller));
}
