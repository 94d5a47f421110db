BEGIN { @ = llquantize(1, 10, arg0, 3, 10); }
