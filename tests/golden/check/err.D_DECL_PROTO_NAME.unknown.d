provider my { probe go(int i) : (int j); };
