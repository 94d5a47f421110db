struct out { int a, b; };
translator struct out < int i > { a = i; };
BEGIN { trace(xlate<struct out>(1).b); }
