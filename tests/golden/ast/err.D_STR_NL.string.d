BEGIN
{
	printf("hello);
	trace(1);
	trace(;
}
