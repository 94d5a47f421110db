long string c;
