struct out { string a; };
translator struct out < int i > { a = i; };
