# Probes, processes and actions at each level of privilege (sees_probes.py).
exec python3 "$SRC/tests/e2e/privilege/sees_probes.py"
