BEGIN { printm(4, (char *)arg0); printm(4, arg0); }
