int f(int);
BEGIN { trace(pid(1)); trace(f(2)); }
