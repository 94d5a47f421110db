# mdb says at how many entries and exits of functions a jump can stand in place of a trap, as objdump and readelf count functions, returns and branches.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/windows.py"
