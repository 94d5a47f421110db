/* @@trigger: funcs 2 */
/* @@runtest-opts: -q */
/* providers.md 19.1: arguments from registers and stack, offsets and values at return, tail calls */
pid$target:a.out:f_ten:entry
{
	printf("f_ten %d %d %d %d %d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9);
}

pid$target:funcs:f_add:entry
{
	printf("f_add %d %d\n", arg0, arg1);
}

pid$target:funcs:f_add:return
{
	printf("f_add returns %d\n", arg1);
}

pid$target:funcs:f_ends:return
{
	self->n++;
	printf("f_ends %s %s returns %d\n", probefunc, probename, arg1);
}

pid$target:funcs:main:0
{
	printf("main:0 %d %d\n", arg0, arg1);
}

pid$target:funcs:f_pair:entry
/arg0/
{
	this->p = (uintptr_t)arg0;
	printf("f_pair %d %s\n", *(int *)copyin(this->p, 4),
	    copyinstr(*(uintptr_t *)copyin(this->p + 8, 8)));
}
