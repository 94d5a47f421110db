unsigned void *c;
