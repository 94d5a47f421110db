// a comment
BEGIN
{
	trace(1); // another
}
