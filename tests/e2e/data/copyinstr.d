/* copyinstr with and without a limit; copyin and copyinto. */
/* @@trigger: calls write 1 */
#pragma D option quiet

syscall::write:entry /pid == $target/
{
	printf("%s|%s|%s|%s\n", copyinstr(arg1), copyinstr(arg1, 3), copyinstr(arg1, 0), copyinstr(arg1 + 8));
	this->b = (char *)copyin(arg1, 10); printf("%c%c %d\n", this->b[0], this->b[9], this->b[5]);
	this->d = (char *)alloca(8); this->d[3] = 0; copyinto(arg1 + 2, 3, this->d); printf("%s\n", stringof(this->d));
	exit(0);
}
