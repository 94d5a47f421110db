/* the name of a probe is no function */
BEGIN { @ = tick-1(); }
