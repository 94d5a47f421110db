BEGIN { ustack(0); jstack("a"); }
