provider my1 { probe go(int); };
