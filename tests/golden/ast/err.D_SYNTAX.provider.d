provider p { probe a; probe b(int); };
provider { };
provider q { int x; };
provider r { probe c(nosuch_t); }
BEGIN { trace(; }
