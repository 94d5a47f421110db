BEGIN { a["x"] = 2; trace(a[1]); @x["a"] = count(); @x[1] = count(); }
