self x;
const y;
