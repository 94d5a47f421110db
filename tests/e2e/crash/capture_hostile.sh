# The capturer is fed with what an attacker could let it read: pids of others, heads that are damaged, stores and files that are not root's.
exec python3 "$SRC/tests/e2e/crash/capture_hostile.py"
