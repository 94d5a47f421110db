/* 1.6 *//**//***/ BEGIN /* a * / b */ { /**/ trace(/* x */ 1 /* y */); } /* end
*/ END \
/ \
1 /
{
	trace(\
		1);
}