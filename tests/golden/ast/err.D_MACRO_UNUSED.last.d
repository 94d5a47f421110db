/* @@args: a b c */
BEGIN { trace($1); trace($$2); }
