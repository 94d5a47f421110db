# What the documentation shows compiles, runs, and prints what stands beside it; its tables are complete: docs.py says how.
exec python3 tests/e2e/cmd/docs.py
