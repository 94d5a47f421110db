struct out { int a; };
provider my { probe go(int i) : (struct out *i); };
