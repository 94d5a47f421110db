/* char arrays are strings; they end at a NUL or at their size. */
#pragma D option quiet

char full[4]; char part[8]; struct s { char n[3]; } ; struct s v;
BEGIN
{
	full[0] = 'f'; full[1] = 'u'; full[2] = 'l'; full[3] = 'l'; part[0] = 'p'; v.n[0] = 'v'; v.n[1] = '1'; v.n[2] = '!';
	printf("%s|%s|%s|%5s|%.2s\n", full, part, v.n, part, full);
	exit(0);
}
