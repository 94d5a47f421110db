/* @@trigger: calls getppid 10 */
/* comparisons of execname and probe names with constants, in every form the code generator knows */
#pragma D option quiet
syscall::getppid:entry
/pid == $target/
{
	@["=="] = sum(execname == "calls");
	@["!="] = sum(execname != "calls");
	@["prefix"] = sum(execname == "call");
	@["longer"] = sum(execname == "calls2");
	@["reverse"] = sum("calls" == execname);
	@["long"] = sum(execname == "a-name-of-fifteen-and-more");
	@["seven"] = sum(execname == "calls77");
	@["eight"] = sum(execname == "calls888");
	@["empty"] = sum(execname == "");
	@["less"] = sum(execname < "calm");
	@["func"] = sum(probefunc == "getppid");
	@["not func"] = sum(probefunc != "getpid");
	@["prov"] = sum(probeprov == "syscall" && probename == "entry" && probemod == "vmlinux");
	@["either"] = sum((execname == "calls" ? probefunc : execname) == "getppid");
	this->n = execname;
	@["copy"] = sum(this->n == "calls");
}
END { printa("%s %@d\n", @); }
