"""``lousho tui``: the second face of ``app``, a Textual program beside the command line.

It calls functions of ``app`` and nothing below. Attributes go down, messages go up: a widget is told what to show, and says
what the person chose. ``program`` holds the app, ``keys`` every key there is, ``reading`` every question asked of a store,
``acting`` everything that is done to one, each deed on a thread of its own;
``state`` holds what is shown as plain values and pure functions, ``widgets`` and ``screens`` draw it, one file each.
"""
