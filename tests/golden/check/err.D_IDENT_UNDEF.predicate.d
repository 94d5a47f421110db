BEGIN / foo == 1 / { trace(1); }
