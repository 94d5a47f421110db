struct s { int a[]; int b; };
int x[];
