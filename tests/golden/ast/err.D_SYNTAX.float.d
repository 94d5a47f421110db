BEGIN { trace(1.5); trace(1e10 + 2.5e-3f); }
