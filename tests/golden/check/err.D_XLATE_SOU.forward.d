struct later;
translator struct later < int i > { a = i; };
BEGIN { trace(1); }
