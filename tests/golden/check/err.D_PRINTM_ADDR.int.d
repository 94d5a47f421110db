BEGIN { printm(8, 8); }
