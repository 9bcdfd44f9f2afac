"""What the program shows, as frozen values and pure functions. No Textual, no loop, no clock."""
