provider my { probe go(int i, void); };
provider our { probe go(void v); };
