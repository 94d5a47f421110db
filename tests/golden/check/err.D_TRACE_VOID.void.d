BEGIN { trace((void)1); trace(bcopy(alloca(8), alloca(8), 8)); }
