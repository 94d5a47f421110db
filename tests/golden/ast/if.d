/* 2.6: if and else. */
BEGIN
{
	if (a) b;
	if (a) { b; c } else d;
	if (a) ; else ;
	if (a) if (b) c; else d;
	if (a) { } else if (b) { x } else { y; }
	trace(1);
	if (a == 1 && (b)) { if (c) { d } }
}
