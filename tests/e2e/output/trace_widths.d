/* @@runtest-opts: */
/* d-language.md 6.2: widths by size, signedness of the type */
BEGIN
{
	trace((char)-1);
	trace((short)-2);
	trace(-3);
	trace((int64_t)-4);
	trace((uint8_t)255);
	trace((uint16_t)65535);
	trace((uint32_t)4294967295);
	trace((uint64_t)5);
	exit(0);
}
