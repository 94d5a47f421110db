/* Built-in variables: names, ids, types (d-language.md 4.2, 13.2) */
BEGIN
{
	trace(pid); trace(tid); trace(ppid); trace(uid); trace(gid); trace(execname);
	trace(timestamp); trace(vtimestamp); trace(walltimestamp); trace(cpu); trace(ipl);
	trace(probeprov); trace(probemod); trace(probefunc); trace(probename);
	trace(id); trace(epid); trace(errno); trace(curthread);
	trace(arg0 + arg1 + arg2 + arg3 + arg4 + arg5 + arg6 + arg7 + arg8 + arg9);
}

syscall::read:entry
{
	trace(args[0]);
	trace(stringof(args[1]));
	trace(args[2]);
}
