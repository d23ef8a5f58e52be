// demo_ghost is only a comment
void load_all() {
    load("demo_a");
    load("demo_b");
}
