struct s { char a[4]; };
struct s v;
BEGIN { v.a = "abc"; }
