BEGIN
{
	x = 1
}
int a
END { y = 2 }
inline int b = 1
END { z = 3; ; w( }
