int char c;
