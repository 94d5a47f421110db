struct s { int a; };
struct s v;
BEGIN { @q = quantize(1, execname); @l = lquantize(1, 0, 10, 1, v); @ll = llquantize(1, 10, 0, 5, 10, @q); }
BEGIN { trace(strlen(@q)); }
