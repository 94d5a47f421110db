# Two tracers on one function of one process: each counts what happens while it is there, whoever comes first and ends first.
# It takes some 20 s, because bpftrace takes one to begin.
exec python3 "$SRC/tests/e2e/pid/beside.py"
