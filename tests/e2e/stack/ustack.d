/* ustack() of a program that keeps frame pointers, in every form (d-language.md 5.2, 6.3, 6.6, 6.7) */
/* @@runtest-opts: -q */
/* @@trigger: chain 3 */
/* @@needs: kernel */
syscall::getppid:entry
/pid == $target/
{
	@[ustack(4)] = count();
	@two[ustack(2), usym(ucaller), umod(ucaller)] = count();
	@u[uaddr(ucaller)] = count();
	@deep = min(ustackdepth >= 4);
}

syscall::getppid:entry
/pid == $target && !done++/
{
	ustack(2);
	printf("[%k]\n%A|%A|%s|%A\n", ustack(1), usym(ucaller), ufunc(ucaller), umod(ucaller), ucaller);
	usym(ucaller);
	printf("\n");
	printf("[%-3k]\n", jstack(1));
}

END
{
	printa("%k %@d\n", @);
	printa("%-3k %s %s %@d\n", @two);
	printa("%A %@d\n", @u);
	printa("%@d\n", @deep);
}
