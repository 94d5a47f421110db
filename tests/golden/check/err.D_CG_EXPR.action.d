BEGIN { x = printf("a"); trace(count()); trace(1 + exit(0)); }
