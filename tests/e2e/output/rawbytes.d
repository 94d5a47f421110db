/* @@runtest-opts: -x rawbytes */
/* Never guess a string. */
#pragma D option quiet

char text[8];
BEGIN { text[0] = 'o'; text[1] = 'k'; trace(text); exit(0); }
