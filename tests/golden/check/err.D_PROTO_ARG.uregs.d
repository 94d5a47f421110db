BEGIN { trace(uregs["a"]); trace(uregs[1, 2]); trace(uregs); }
