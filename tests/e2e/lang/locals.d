/* this-> lives for one firing over all its clauses and starts at zero */
#pragma D option quiet
int n;
this int b;
BEGIN { this->a = 5; }
BEGIN { printf("%d\n", this->a); }
tick-10ms { printf("%d\n", this->b); this->b = 9; n++; }
tick-10ms /n == 2/ { exit(0); }
