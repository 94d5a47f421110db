# mdb shows the values, variables and objects of a Perl program as the program itself knows them: the Perl that is installed, or PERL.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/values_perl.py"
