BEGIN
{
	trace(1);

syscall::read:entry
/pid/
{
	if (x) {
		trace(2);
}
END
{
	trace(;
}
