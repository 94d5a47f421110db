BEGIN
{
	speculate(speculation());
	dead(1);
}
