/* Every width: stored values are cut and extended, arithmetic is 64 bits wide. */
#pragma D option quiet

int8_t i8; int16_t i16; int32_t i32; int64_t i64; uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64;
BEGIN
{
	i8 = 200; i16 = 40000; i32 = 3000000000; i64 = 0xffffffffffffffff;
	u8 = 300; u16 = 70000; u32 = -1; u64 = -1;
	printf("%d %d %d %d\n", i8, i16, i32, i64);
	printf("%d %d %d %d\n", u8, u16, u32, u64);
	i8 = 127; i8++; i16 = 32767; i16++; i32 = 2147483647; i32++; i64 = 9223372036854775807; i64++;
	printf("%d %d %d %d\n", i8, i16, i32, i64);
	u8 = 0; u8--; u16 = 0; u16--; u32 = 0; u32--; u64 = 0; u64--;
	printf("%d %d %d %d\n", u8, u16, u32, u64);
	u8 = 255; u8 += 2; i8 = -128; i8 -= 1; u16 = 256; u16 *= 256; i16 = 1; i16 <<= 15;
	printf("%d %d %d %d\n", u8, i8, u16, i16);
	printf("%d %d %d %d\n", ~u8, -i8, !u8, +i16);
	printf("%d %d %d\n", (int8_t)0x180, (uint16_t)-1, (int32_t)0x80000000);
	exit(0);
}
