# @@needs: kernel
# Every command of commands/ does what its comment says, on a workload that is known: commands.py has the table.
exec python3 tests/e2e/cmd/commands.py
