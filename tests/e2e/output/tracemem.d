#pragma D option quiet
BEGIN
{
	tracemem("Linux version ", 14);
	exit(0);
}
