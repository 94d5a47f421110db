# memprof malloc and leaks beside heaptrack on the same programs: allocations, blocks and bytes at the end, by place, and what has leaked.
# @@foreign
# @@timeout: 240
exec /usr/bin/python3 "$SRC/tests/e2e/memprof/heaptrack.py"
