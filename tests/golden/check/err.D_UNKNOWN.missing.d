BEGIN { trace(link_ntop(1, (void *)0)); trace(cwd); panic(); trace(zonename); }
