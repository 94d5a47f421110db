BEGIN { @ = lquantize(1, 0, arg0); }
