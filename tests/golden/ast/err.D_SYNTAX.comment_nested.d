BEGIN { /* a /* b */ trace(1); }
