BEGIN { @ = lquantize(1, arg0, 10); }
