/* d-language.md B.4 */
#pragma D option quiet
BEGIN { @ = quantize(-3); @ = quantize(0); @ = quantize(5); exit(0); }
