BEGIN { a[1] = 2; trace(a[1, 2]); @x[1] = count(); @x = count(); }
