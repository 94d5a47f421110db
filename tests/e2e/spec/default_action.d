/* speculate() alone records the default action; if/else speculates in its block. */
BEGIN { sp = speculation(); }
BEGIN { speculate(sp); }
BEGIN { if (sp == 1) { speculate(sp); trace("then"); } else { trace("else"); } }
BEGIN { if (sp == 2) { speculate(sp); trace("then"); } else { trace("not speculative"); } }
BEGIN { if (sp == 2) { speculate(sp); } }
BEGIN { if (sp == 1) { speculate(sp); } }
BEGIN { commit(sp); }
BEGIN { exit(0); }
