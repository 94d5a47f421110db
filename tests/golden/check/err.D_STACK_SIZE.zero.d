BEGIN { stack(0); stack(arg0); }
