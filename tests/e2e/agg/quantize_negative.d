/* Both signs in values; buckets of powers of two. */
#pragma D option quiet

BEGIN
{
	@ = quantize(-1); @ = quantize(-2); @ = quantize(-3); @ = quantize(-4); @ = quantize(0); @ = quantize(1);
	@ = quantize(2); @ = quantize(3); @ = quantize(4); @ = quantize(1023); @ = quantize(1024);
	exit(0);
}
