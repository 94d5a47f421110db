/* Stacks and addresses: actions, keys, arguments of formats, variables (d-language.md 4.2, 5.2) */
syscall::read:entry
{
	stack(); stack(5); ustack(); ustack(10); ustack(10, 100); jstack(); jstack(3);
	sym(caller); func(caller); mod(caller); usym(ucaller); ufunc(ucaller); umod(ucaller);
	uaddr(ucaller);
	printf("%k %k %k %a %a %A %s", stack(), ustack(7), jstack(2, 8), caller, sym(caller),
	    uaddr(ucaller), mod(caller));
	trace(stackdepth); trace(ustackdepth);
	@[stack(), ustack(3), jstack()] = count();
	@a[sym(caller), func(caller), mod(caller), usym(ucaller), ufunc(ucaller), umod(ucaller),
	    uaddr(ucaller)] = sum(stackdepth + ustackdepth);
	printa("%k %k %k %@d", @);
	printa("%a %a %s %A %A %s %A", @a);
}
