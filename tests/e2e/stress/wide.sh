# Tuples, expressions, blocks, formats, variables and records of unusual size.
exec python3 "$SRC/tests/e2e/stress/stress.py" tuple tuple_strings ternary ternary_strings branches branches_nested branches_error depth depth_cut stores expr vars ifs printf record
