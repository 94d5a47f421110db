/* trace() of a string and a number is warned of: it prints an address. What the hint names prints text. */
#pragma D option quiet
BEGIN
{
	trace("a" + 1);
	trace(stringof("abc" + 1));
	trace(strjoin("a", lltostr(1)));
	exit(0);
}
