BEGIN { stack(); trace(json("{}", "a")); trace(caller); @[ustack()] = count(); panic(); printf("%a", sym(arg0)); trace(zonename); }
