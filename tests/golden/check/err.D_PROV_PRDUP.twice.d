provider my { probe go__on(int); probe go__on(int); };
