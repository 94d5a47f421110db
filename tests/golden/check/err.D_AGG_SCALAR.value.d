BEGIN { @a = sum("a"); @q = quantize(1, execname); }
