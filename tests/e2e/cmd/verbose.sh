# -v -e, -lv: stabilities and argument types in the classic layout.
"$DTRACE" -ve -n 'BEGIN, syscall::read:entry { x = 1; }' >"$TMP/out" 2>/dev/null || exit 1
cat >"$TMP/want" <<'END'

Stability attributes for description BEGIN, syscall::read:entry :

	Minimum Probe Description Attributes
		Identifier Names: Private
		Data Semantics:   Private
		Dependency Class: ISA
	Minimum Statement Attributes
		Identifier Names: Stable
		Data Semantics:   Stable
		Dependency Class: Common

END
head -n 12 "$TMP/out" | diff "$TMP/want" - || exit 1
"$DTRACE" -lvn syscall::read:entry | tail -n +3 >"$TMP/out"
cat >"$TMP/want" <<'END'

	Probe Description Attributes
		Identifier Names: Private
		Data Semantics:   Private
		Dependency Class: Unknown

	Argument Attributes
		Identifier Names: Private
		Data Semantics:   Private
		Dependency Class: ISA

	Argument Types
		args[0]: unsigned int
		args[1]: userland char *
		args[2]: size_t

END
diff "$TMP/want" "$TMP/out"
# A pattern promises what the least stable of the providers it matches does.
"$DTRACE" -ven 's*::getppid:entry { trace(arg0); }' 2>/dev/null | sed -n '8,11p' >"$TMP/out"
cat >"$TMP/want" <<'END2'
	Minimum Statement Attributes
		Identifier Names: Private
		Data Semantics:   Private
		Dependency Class: ISA
END2
diff "$TMP/want" "$TMP/out" || exit 1
# From the pragma on, what looks like a type is a probe.
printf '#pragma D option pspec\nshort*{ exit(0); }\n' >"$TMP/pspec.d"
"$DTRACE" -es "$TMP/pspec.d" 2>&1 | grep -q 'probe description :::short\* does not match any probes'
