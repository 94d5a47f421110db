#pragma D option quiet
struct in { char c; short s; unsigned b1:3; int b2:7; };
struct p { int x; struct in i[3]; long y; union { int w; char b[4]; } u; };
struct p P; self struct p sp; self struct p sq; struct p arr[int];
BEGIN {
	P.x = 1; P.i[1].s = -5; P.u.w = 0x01020304;
	self->sp.x = 7; self->sp.i[2].b1 = 5; self->sp.i[2].b2 = -9; self->sp.u.b[3] = 1;
	printf("%d %d %d %x\n", self->sp.x, self->sp.i[2].b1, self->sp.i[2].b2, self->sp.u.w);
	self->sp.y = self->sp.x++ + ++self->sp.x; printf("%d %d\n", self->sp.x, self->sp.y);
	arr[1].i[0] = P.i[1]; printf("%d %d\n", arr[1].i[0].s, arr[1].x);
	arr[1].i[arr[1].x].c = 'q'; printf("%c\n", arr[1].i[0].c);
	arr[2] = P; arr[2].u.b[0]++; printf("%x %x\n", arr[2].u.w, P.u.w);
	arr[1] = 0; arr[1].y -= 4; printf("%d %d\n", arr[1].y, arr[1].i[0].s);
	self->sq = self->sp; self->sq.x = (self->sp.x = 99) + 1; printf("%d %d\n", self->sq.x, self->sp.x);
	self->m["k"] = P; self->m["k"].x += 41; printf("%d\n", self->m["k"].x);
	self->sp = 0; self->sp.y = 3; printf("%d %d\n", self->sp.x, self->sp.y);
	exit(0);
}
