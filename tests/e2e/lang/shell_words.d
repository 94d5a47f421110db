/* @@runtest-opts: -q -w */
/* @@exit: 3 */
/*
 * Texts of others in commands and paths: what warns, what does not, and that the program runs all the
 * same. %q makes one word of any text.
 */
inline string OWN = "a b";
string own, other;

BEGIN
{
	own = strjoin(OWN, " c");
	system("echo %s %s %d %s", OWN, own, 7, lltostr(8));	/* the program's own */
	system("echo %s", other);
	system("echo %q %q", "it's", "a  b; echo c");
	system("echo '%q' \"%q\" \"$(echo %q)\"", execname, execname, execname);
	system("echo %C %S", execname[0], execname);
	freopen("/dev/null");
	freopen("/dev/%s", strjoin("nul", "l"));
	freopen("/dev/%s", basename(execname == "x" ? execname : "null"));
	freopen("/dev/%s", execname == "x" ? execname : "null");
	freopen("");
	other = "other";
}

BEGIN
{
	system("echo %s", other);
	exit(3);
}

syscall::getpgid:entry
/pid == $pid + 1/
{
	other = execname;
}
