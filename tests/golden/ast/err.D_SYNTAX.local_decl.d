BEGIN
{
	int x;
	uint64_t y;
	x = 1;
}
