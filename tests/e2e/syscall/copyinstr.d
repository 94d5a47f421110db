/* @@trigger: strings /no/such/a /no/such/bb /no/such/a */
#pragma D option quiet
syscall::openat:entry
/pid == $target && substr(copyinstr(arg1), 0, 8) == "/no/such"/
{
	printf("%s %d %s\n", copyinstr(arg1), strlen(copyinstr(arg1)), basename(copyinstr(arg1)));
	@[copyinstr(arg1)] = count();
}
END { printa("%s %@d\n", @); }
