"""Pages to look at in a browser: one self-contained file each, that asks no network and runs nothing but our own script.

``document`` puts a page together from values and the files in ``assets``; ``comparison`` says what of two runs stands side
by side. Whatever a model or a tool said is data in it, never markup. May import core, domain and errors. Writes no file.
"""
