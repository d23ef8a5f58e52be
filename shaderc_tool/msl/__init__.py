"""The Metal Shading Language front end used off macOS."""
