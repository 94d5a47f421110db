/* 2.2: precedence and associativity. */
BEGIN
{
	a = b = c;
	a + b * c - d / e % f;
	a << b + c >> d;
	a < b == c >= d != e;
	a & b ^ c | d;
	a && b ^^ c || d && e;
	a ? b : c ? d : e;
	a ? b, c : d;
	a || b ? c && d : e || f;
	- -a; -+a; !~a; - --a; *&a; &*a;
	++a; --a; a++; a--; ++*a; (*a)++; *a++;
	a.b.c->d[1][2, 3](4, 5)();
	sizeof a.b; sizeof (a).b; sizeof (a) + 1; sizeof (int) + 1; sizeof - 1;
	stringof a + b; stringof (a)[0]; stringof(a); stringof "x";
	(int)a + b; (int)(a + b); (char *)-a; -(int)a; (int)(char)a;
	(a, b), c;
	(a = b) = c; (a); ((a + b)) = c; (a ? b : c)->d;
	a += 1; a -= 1; a *= 1; a /= 1; a %= 1; a &= 1; a ^= 1; a |= 1; a <<= 1; a >>= 1;
	a = b ? c = d : e, f;
	*a = 1; ++a = 1; f(a = 1, (b, c));
}
