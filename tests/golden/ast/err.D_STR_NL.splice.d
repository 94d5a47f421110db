BEGIN
{
	printf("hello\
 there");
}
