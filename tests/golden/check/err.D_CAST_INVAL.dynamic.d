struct out { int a; };
translator struct out < int i > { a = i; };
BEGIN { @a = count(); x = (int)@a; y = (int)xlate<struct out *>(1); trace((struct out)xlate<struct out>(1)); }
