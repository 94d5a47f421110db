BEGIN { 3++; }
