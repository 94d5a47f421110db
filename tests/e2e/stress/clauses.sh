# Hundreds of clauses.
exec python3 "$SRC/tests/e2e/stress/stress.py" clauses clauses_10000 clauses_strings_64k clauses_self clauses_work clauses_over_probes clauses_syscalls
