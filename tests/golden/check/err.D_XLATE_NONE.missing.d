struct out { int a, b; };
BEGIN { trace(xlate<struct out>(1).b); }
