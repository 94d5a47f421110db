/* stacks have no number, and are named by their own type */
BEGIN { printf("%p", stack()); printf("%d", ustack(3)); printf("%p %d", usym(1), sym(1)); }
BEGIN { @[stack(), ustack()] = count(); }
BEGIN { printa("%p", @); }
BEGIN { printa("%k%p", @); }
BEGIN { printf("%d", @); }
