"""The screens, one a file: the three panes, the waiting room, the help; and those on which something is done, loaded when first wanted."""
