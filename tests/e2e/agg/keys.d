/* d-language.md B.2: default printing, order by value then key */
#pragma D option quiet
BEGIN
{
	@a["x", 1] = count();
	@a["yy", 2] = count();
	@a["yy", 2] = count();
	exit(0);
}
