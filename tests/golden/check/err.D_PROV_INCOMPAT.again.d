provider my { probe go(int); };
provider my { probe go(string); };
