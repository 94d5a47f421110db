struct out { int a; };
translator struct out < int i > { a = i; };
BEGIN { print(xlate<struct out>(1)); }
