BEGIN { lfunc = "mine"; lline++; }
