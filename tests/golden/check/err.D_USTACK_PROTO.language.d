BEGIN { lstack(1, 2, 3); }
