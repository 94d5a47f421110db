/* Members of a union share their bytes. */
#pragma D option quiet

union word { uint32_t w; uint8_t b[4]; uint16_t h[2]; struct { uint8_t lo, hi; } p; };
union word u; this union word t; self union word s;
BEGIN
{
	u.w = 0x01020304;
	printf("%x %x %x %x %x\n", u.b[0], u.b[3], u.h[0], u.h[1], u.p.hi);
	u.b[1] = 0xff; printf("%x\n", u.w);
	this->t = u; this->t.h[1] = 0; printf("%x\n", this->t.w);
	self->s = u; self->s.b[0]++; printf("%x %d\n", self->s.w, sizeof(union word));
	exit(0);
}
