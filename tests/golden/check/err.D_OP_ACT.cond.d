BEGIN { pid ? trace(1) : trace(2); trace(1), trace(2); }
