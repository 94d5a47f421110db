BEGIN { trace(sizeof(int [string])); }
