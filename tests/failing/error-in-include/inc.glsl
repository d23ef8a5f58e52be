// first
uint f() { return nothing; }
