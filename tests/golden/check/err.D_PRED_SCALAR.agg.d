BEGIN { @a = count(); }
BEGIN /@a/ { }
