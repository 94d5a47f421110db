struct s { int a[4294967296]; };
