# Probes that are known to harm (#pragma D harmful): left out in whatever way they are named, listed or met, unless -x harmful insists.
exec python3 "$SRC/tests/e2e/usdt/harmful.py"
