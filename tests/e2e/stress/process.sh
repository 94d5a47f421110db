# All functions of a process.
exec python3 "$SRC/tests/e2e/stress/stress.py" probes_process
