struct out { int a; struct out *next; };
translator struct out < int i > { a = i; };
BEGIN { trace(xlate<struct out *>(1)[0]); trace(strlen(xlate<struct out *>(2))); m[xlate<struct out>(3)] = 1; }
