struct out { int a; };
translator struct out < int i > { };
BEGIN { print(xlate<struct out>(1)); }
