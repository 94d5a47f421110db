# mdb -l lists the core files of systemd-coredump, the newest first, and opens the newest of a process; names of others do no harm.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/store.py"
