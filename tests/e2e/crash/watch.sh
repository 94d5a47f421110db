# fathom-crash watch captures what dies of a signal, with the registers that the kernel's own core of the same crash has, and nothing else.
exec python3 "$SRC/tests/e2e/crash/watch.py"
