provider my { probe go(int i, ...); };
