BEGIN { printm(arg0, (uintptr_t *)arg1); }
