BEGIN
{
	trace($1); trace($$2);
	trace($nope);
	trace($$nope + 1);
}
