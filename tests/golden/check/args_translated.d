/* args[] that a provider declares as translated, perhaps from an argument at another place (d-language.md 10.1). */
struct buf { int size; string name; };
struct dev { int major; };
translator struct buf < int i > { size = i * 512; name = "b"; };
translator struct dev < int i > { major = i >> 20; };

io:::start
{
	trace(args[0]->size);
	trace(args[0]->name);
	trace(args[1].major);
	trace(args[2]);
}
