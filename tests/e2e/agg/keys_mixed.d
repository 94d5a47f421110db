/* Default layout of keys of all types. */
#pragma D option quiet

struct s { int a; char b; }; struct s v;
BEGIN
{
	@a[(char)1, (short)2, 3, 4L, "five"] = count(); @a[(char)-1, (short)-2, -3, -4L, ""] = count(); @a[(char)-1, (short)-2, -3, -4L, ""] = count();
	@u[(unsigned char)-1, (unsigned short)-1, (unsigned)-1, (uint64_t)-1] = count();
	v.a = 1; v.b = 'b'; @s[v, 1] = count();
}
BEGIN { exit(0); }
