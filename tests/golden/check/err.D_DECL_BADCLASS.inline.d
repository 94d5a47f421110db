inline self int x = 1;
static int y;
