BEGIN { tracemem(arg0, arg1); tracemem(arg0, 0); }
