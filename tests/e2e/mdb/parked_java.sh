# The same (parked.sh) of virtual threads of Java 25.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/parked.py" java
