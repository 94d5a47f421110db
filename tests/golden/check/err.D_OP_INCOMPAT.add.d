BEGIN { trace("a" + "b"); }
