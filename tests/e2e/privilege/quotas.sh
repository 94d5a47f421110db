# What the sessions of a user may take together: sessions, memory, probes, CPU time of others; and that nobody gets more.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/quotas.py"
