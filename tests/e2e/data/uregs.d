/* uregs[]: registers of the user program at a system call (d-language.md 4.2). */
/* @@runtest-opts: -q */
/* @@trigger: calls getppid 3 */
syscall::getppid:entry
/pid == $target/
{
	i = R_RSP; sp = uregs[R_SP];
	printf("%d %d %d %d\n", uregs[R_PC] == ucaller || uregs[R_PC] != 0, uregs[i] == sp, uregs[R_SP] % 8, uregs[R_CS] & 3);
	exit(0);
}
