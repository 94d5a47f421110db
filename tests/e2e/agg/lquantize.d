/* d-language.md B.3 */
#pragma D option quiet
BEGIN
{
	@ = lquantize(0, 0, 3); @ = lquantize(1, 0, 3); @ = lquantize(1, 0, 3); @ = lquantize(7, 0, 3);
	exit(0);
}
