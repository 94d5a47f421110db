BEGIN { @a = count(); x = @a && 1; y = !@a; z = @a ? 1 : 2; @a++; }
BEGIN { if (@a) trace(1); }
