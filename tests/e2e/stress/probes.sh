# Thousands of probes.
exec python3 "$SRC/tests/e2e/stress/stress.py" probes
