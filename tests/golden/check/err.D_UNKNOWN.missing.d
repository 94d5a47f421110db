BEGIN { trace(json("{}", "a")); trace(cwd); trace(speculation()); panic(); trace(zonename); }
