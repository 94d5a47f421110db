int *k;
userland int *u;
BEGIN { k = u; trace(k == u); }
