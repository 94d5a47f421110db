/* an operand without a value is an operand of a wrong type */
struct out { int a; };
translator struct out < int i > { a = i; };
BEGIN { @a = count(); @a + 3; x = 1 - @a; y = @a == 1; z = xlate<struct out>(1) + 1; }
