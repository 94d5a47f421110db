/* A name whose declaration failed is poison: its uses are not reported. */
void v; struct no w; self int a[0];
BEGIN { v = 1; w.x = 2; self->a[1] = 3; trace(v); }
