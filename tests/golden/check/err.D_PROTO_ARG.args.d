BEGIN { trace(strlen(1)); trace(copyinstr(curthread)); exit("a"); trace(args["a"]); }
