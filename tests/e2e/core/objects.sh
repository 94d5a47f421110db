# dtrace --core over Node.js and Python programs: their objects by class and by what properties say, as the programs themselves know them.
# @@foreign
exec python3 "$SRC/tests/e2e/core/objects.py"
