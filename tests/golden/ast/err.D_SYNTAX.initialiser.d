int x = 5;
int y;
