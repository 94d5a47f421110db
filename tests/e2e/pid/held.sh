# How a command is held until probes are in place: every kind of program, what its initialisers may do, both kinds of breakpoint.
exec python3 "$SRC/tests/e2e/pid/held.py"
