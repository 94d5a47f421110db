# Reports of Java, of each JDK that is installed: the class and message of exceptions of each thread, from the virtual machine's state.
# @@foreign
exec python3 "$SRC/tests/e2e/crash/report_java.py"
