/* loops, blocks and tables of ustack helpers (d-language.md 2.10) @@opts: helper */
table VERSIONS {
	uint64_t version = 52, 53;
	uint8_t o_code = 24, 8 + 48;
	uint64_t sets = 0xf782ffffffc3000ull, 1;
	uint16_t o_name = 300, 0;
	uint8_t o_line = 1, 2;
	string name = "a", "b";
};
inline void step(uint64_t by)
{
	this->at += by;
	if (this->at > sets)
		this->at = 0;
}
inline void twice(uint64_t by)
{
	step(by + 1);
	step(o_name);
}
dtrace:helper:ustack: { this->is_known = VERSIONS[arg0]; this->at = 1ull; }
dtrace:helper:ustack:
/version && name != ""/
{
	while (this->at < 8; 16)
		twice(o_line);
}
