# Every script of examples/ answers its question about a workload that is known: examples.py has the table.
exec python3 tests/e2e/cmd/examples.py
