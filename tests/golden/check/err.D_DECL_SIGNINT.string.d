unsigned string c;
