BEGIN { a + b = c; a ? b : c += 1; (int)a = 1; }
