BEGIN { lstack(0); @[lstack(16385)] = count(); }
