BEGIN
{
		trace("éé",	x y);
}
