"""The panes and their parts, one a file."""
