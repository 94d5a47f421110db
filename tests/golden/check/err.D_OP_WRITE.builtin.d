BEGIN { pid = 3; timestamp++; }
