struct nothing v;
