/* a row without a value @@opts: helper */
table T {
	uint64_t key = 1, 2;
	uint8_t a;
};
