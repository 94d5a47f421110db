/* Histograms under a format. */
#pragma D option quiet

BEGIN { @q["k"] = quantize(5); @q["l"] = quantize(6); printa("key %s:%@d", @q); printa("key %s %@x;\n", @q); exit(0); }
