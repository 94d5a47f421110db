/* Actions: records, destructive ones, arguments (d-language.md 5.2, 5.3) */
#pragma D option destructive
struct s { int a; char b[8]; } ;
struct s v;
BEGIN
{
	trace(1); trace("a"); trace(v); trace(v.b);
	tracemem(arg0, 32); tracemem(curthread, 64, arg1);
	printf("%d %s %c\n", pid, execname, 'x');
	raise(9); stop();
	system("echo %d", pid);
	freopen("/tmp/%s", execname); freopen(""); ftruncate();
	setopt("quiet"); setopt("switchrate", "1s");
	exit(0);
}
END { }
tick-1s { exit(1); }
