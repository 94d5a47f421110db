BEGIN { @a = count(); x = @a; trace(1 + @a); }
