/* Adjacent operators that look alike, conversions between integer sizes (d-language.md 3.3) */
int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32; int64_t i64; uint64_t u64;
BEGIN
{
	i8 = u64; u8 = i8; i16 = u8; u16 = i16; i32 = u32; u32 = i8; i64 = u32; u64 = i32;
	trace(i8 + u8); trace(i16 * u8); trace(u32 - i32); trace(i64 / u32); trace(u64 / i64); trace(i32 % i8);
	trace(i8 >> 1); trace(u8 >> i8); trace(i32 << u64); trace(i32 < u32); trace(i32 < u16); trace(i64 < u64);
	trace(-u32); trace(~u8); trace(!i64); trace(+i8); trace(i8++ + ++u8); i32 += u64; u8 <<= 3; i16 /= u64;
	trace((int8_t)u64 + (uint16_t)i8); trace(i8 & u8 | i16 ^ u16);
}
