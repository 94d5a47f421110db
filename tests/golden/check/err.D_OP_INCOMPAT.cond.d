BEGIN { trace(pid ? 1 : "a"); }
