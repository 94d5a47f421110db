# mdb shows the values, variables and objects of a Java program as the program itself and the JDK's own tool know them: each JDK that is installed.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/values_java.py"
