BEGIN { trace(uregs[28]); trace(uregs[-1]); }
