BEGIN { x = bcopy(alloca(8), alloca(8), 8); }
