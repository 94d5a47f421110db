BEGIN { @ = llquantize(1, 10, 0, 3, 30); }
BEGIN { @a = llquantize(1, 10, 2, 6, 80); }
BEGIN { @b = llquantize(1, 12, 0, 3, 96); }
BEGIN { @c = llquantize(1, 10, 3, 6, 80); @d = llquantize(1, 10, 0, 2, 1000); }
