/* Independent errors are reported together, each once. */
BEGIN
{
	trace(1;
	trace(2);
	x = = 2;
	y = 3
	z = 4;
	if (a { b; c; }
	if (a) { b(; c; } else { d; e) ; }
	trace(3));
}
syscall::read:entry
/pid == /
{
	@a[ = count();
	printf("ok");
}
int x y;
struct s { int a int b; };
END { trace("last" "strings"); }
