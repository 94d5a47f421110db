/* A string that is not in memory yet: a fault at the entry (d-language.md 7.1), there at the return. */
/* @@runtest-opts: -q */
/* @@trigger: calls cold 3 */

int n; int m; int faults; self uintptr_t name;

syscall::openat:entry
/pid == $target/
{
	self->name = arg1;
	n += copyinstr(arg1) == "/no/such/cold";
}

syscall::openat:return
/pid == $target && self->name/
{
	m += copyinstr(self->name) == "/no/such/cold";
	self->name = 0;
}

ERROR { faults += arg4 == DTRACEFLT_BADADDR && arg3 >= 0; }
END { printf("%d of 3 at the entry, %d faults, %d at the return\n", n, faults, m); }
