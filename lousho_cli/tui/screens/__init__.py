"""The screens, one a file: the three panes, the waiting room, the help."""
