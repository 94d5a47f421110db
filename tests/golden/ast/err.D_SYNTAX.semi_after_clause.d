BEGIN { };
END { };
