# A session of one user sees no process that is not wholly this user's, and counts none (sees_whom.py).
exec python3 "$SRC/tests/e2e/privilege/sees_whom.py"
