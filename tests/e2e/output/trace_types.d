/* trace() of every type, quiet: only the value. */
#pragma D option quiet

struct s { int a; char b; }; struct s v; char text[8]; char raw[4];
BEGIN
{
	trace((char)-1); trace(" "); trace((unsigned short)-1); trace(" "); trace(-1); trace(" "); trace((uint64_t)-1); trace(" ");
	trace("text"); trace("\n");
	text[0] = 'o'; text[1] = 'k'; trace(text); trace("\n");
	raw[0] = 1; raw[1] = 2; trace(raw); v.a = 1; v.b = 'b'; trace(v);
	exit(0);
}
