/* The first and the last bucket. */
#pragma D option quiet

BEGIN { @hi["hi"] = quantize(0x7fffffffffffffff); @lo["lo"] = quantize((int64_t)0x8000000000000000); @z["zero"] = quantize(0); exit(0); }
