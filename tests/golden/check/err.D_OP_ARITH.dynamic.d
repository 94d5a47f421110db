BEGIN { @a = count(); x = @a * 2; y = -@a; }
