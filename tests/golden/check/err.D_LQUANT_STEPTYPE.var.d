BEGIN { @ = lquantize(1, 0, 10, arg0); }
BEGIN { @a = lquantize(1, 0, 10, 0); @b = lquantize(1, 0, 10, -1); }
