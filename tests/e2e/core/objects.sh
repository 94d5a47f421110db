# dtrace --core over Node.js, Python and Lua programs: their objects by class and by what properties say, as the programs themselves know them.
# @@foreign
exec python3 "$SRC/tests/e2e/core/objects.py"
