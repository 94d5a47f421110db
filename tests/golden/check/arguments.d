/* @@args: 12 abc execname */
/* Script arguments and macro variables (d-language.md 1.9) */
BEGIN / pid == $1 && $$2 == "abc" / { trace($3); trace($pid); trace($$target); trace($$1); }
