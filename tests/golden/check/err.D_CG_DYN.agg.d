BEGIN { @a = count(); x = @a; trace(*@a); }
