BEGIN { @a = sum("a"); @b = count(); @c = sum(@b); }
