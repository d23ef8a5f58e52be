"""What a host program includes, assembles or links: pure functions from payload bytes to file contents."""
