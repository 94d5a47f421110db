BEGIN
{
	if (x) { trace(1); } }
	trace(2);
}
END { trace(3); }
END { trace(; }
