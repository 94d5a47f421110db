# live() and dead(): known numbers of objects, a full table, exec, fork, SIGUSR1 (live.py).
command -v cc >/dev/null || exit 67
cc -O1 -pthread -o "$TMP/live" "$SRC/tests/e2e/agg/live.c" || exit 1
exec python3 "$SRC/tests/e2e/agg/live.py"
