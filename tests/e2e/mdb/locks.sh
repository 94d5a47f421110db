# mdb says of each thread what lock it waits for, who owns that, and which threads are deadlocked, in a process and in its core file, also without symbols of libc.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/locks.py"
