# Core files of busy programs that were killed at random moments, also within a collection of garbage: their stacks and objects in mdb, never
# a crash, with bounded time and output; how many values are wrong is counted. CORES=N: of each language.
# @@full
# @@foreign
# @@timeout: 3600
exec python3 "$SRC/tests/e2e/mdb/moments.py"
