// first
uint f() { return 1u }
