BEGIN { printf("%*d"); printf("%.*d", 1 ? 2 : 3); }
