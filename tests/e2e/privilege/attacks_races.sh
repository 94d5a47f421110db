# A user's processes change whose they are while her sessions begin, work and end.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_races.py"
