/* stack() begins in the kernel function that the probe is in, however many frames are asked for */
/* @@runtest-opts: -q */
/* @@trigger: chain 5 */
/* @@needs: kernel */
syscall::getppid:entry
/pid == $target && !seen++/
{
	stack(2);
	printf("[%k]\n", stack(1));
	printf("%a|%a|%s|%s\n", caller, sym(caller), func(caller), mod(caller));
	printf("%d %d\n", stackdepth >= 2, stackdepth < 20);
}

syscall::getppid:entry
/pid == $target/
{
	@[stack()] = count();
	@one[stack(1), sym(caller)] = count();
	@s[sym(caller)] = count();
	@s[sym(caller + 1)] = count();
	@m[mod(caller)] = count();
	@m[mod(caller - 4096)] = count();
	@depth[stackdepth] = count();
}

END
{
	printa("%k%@d\n", @);
	printa("%k%a %@d\n", @one);
	printa("%a %@d\n", @s);
	printa("%s %@d\n", @m);
	printa("%@d\n", @depth);
}
