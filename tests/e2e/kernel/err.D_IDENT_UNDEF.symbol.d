BEGIN { trace(`no_such_symbol); exit(0); }
