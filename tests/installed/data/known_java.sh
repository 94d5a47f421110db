# SPDX-License-Identifier: MIT
# A program of the Java runtime itself, which needs no compiler: it makes a key and writes it into a file.
until [ -e seen ]; do
	rm -f keys
	keytool -genkeypair -keyalg RSA -keysize 2048 -alias known -dname cn=known -keystore keys -storepass known-one -keypass known-one >said 2>&1 ||
		{ cat said; exit 1; }
done
