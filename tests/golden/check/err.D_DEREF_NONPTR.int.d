BEGIN { trace(*pid); trace(pid[0]); }
