/* @@runtest-opts: -x rawbytes */
/* Never guess a string; and strings are dumped with the NUL that ends them, as keys, too. */
#pragma D option quiet

char text[8];
BEGIN { text[0] = 'o'; text[1] = 'k'; trace(text); }
BEGIN { trace("text of more than sixteen"); }
BEGIN { self->s = ""; trace(self->s); @["key"] = count(); }
BEGIN { exit(0); }
