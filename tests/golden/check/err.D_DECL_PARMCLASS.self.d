provider my { probe go(self int i); };
