struct x`y`z *p;
