/* @@args: 12abc */ BEGIN { trace($1); }
