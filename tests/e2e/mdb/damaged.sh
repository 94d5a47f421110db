# Core files of busy programs in which bits of notes and headers, and words of their heaps, are others: whatever mdb shows of them, it
# comes to an end, with bounded time, output and memory. SEED=N repeats what a report names; ROUNDS=N tries more.
# @@foreign
# @@timeout: 300
exec python3 "$SRC/tests/e2e/mdb/damaged.py"
