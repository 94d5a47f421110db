/* loops, blocks and tables of ustack helpers (d-language.md 2.10) @@opts: helper */
table VERSIONS {
	uint64_t version = 52, 53;
	uint8_t o_code = 24, 8 + 48;
	string name = "a", "b";
};
inline void step(uint64_t by)
{
	this->at += by;
	if (this->at > 4)
		this->at = 0;
}
inline void run()
{
	step(1);
}
dtrace:helper:ustack:
/version/
{
	while (this->at < 8; 16) {
		run();
		step(o_code);
	}
}
