/* d-language.md B.1: line prefix, default number and string formats */
BEGIN
{
	trace(10);
	trace("abc");
	exit(0);
}
