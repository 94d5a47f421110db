# What cannot be is refused with the name of the limit.
exec python3 "$SRC/tests/e2e/stress/stress.py" limit_clauses limit_record limit_branches limit_nesting limit_variables limit_strsize
