BEGIN { @ = llquantize(1, arg0, 0, 3, 10); }
