BEGIN { trace(sizeof(struct nothing)); trace(sizeof(*curthread)); }
