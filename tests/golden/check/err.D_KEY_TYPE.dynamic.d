BEGIN { @a = count(); x[@a] = 1; @b[@a] = count(); y[bcopy(alloca(1), alloca(1), 1)] = 1; }
