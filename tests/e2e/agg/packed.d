/* Options agghist, aggpack, aggzoom, encoding (d-language.md 6.4.2), as they change. */
/* @@runtest-opts: -q -x encoding=ascii */
BEGIN
{
	@q[1] = quantize(3); @q[1] = quantize(100); @q[1] = quantize(100);
	@s["x"] = sum(1); @s["y"] = sum(3);
	setopt("aggpack");
}
BEGIN { printa(@q); setopt("aggpack", "off"); setopt("agghist"); }
BEGIN { printa(@s); setopt("agghist", "off"); setopt("aggzoom"); }
BEGIN { printa(@q); exit(0); }
