# Scripts in the style of the literature about DTrace, on workloads that are known: books.py has the table.
exec python3 tests/e2e/classic/books.py
