translator int < int > { };
translator int < int x > { a = 1 };
translator nosuch_t < int x > { };
BEGIN { trace(; }
