# Code of processes at dtrace_proc: stacks, probes of programs, helpers (sees_code.py).
exec python3 "$SRC/tests/e2e/privilege/sees_code.py"
