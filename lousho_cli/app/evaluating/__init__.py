"""``lousho eval``: eval files found, their cases run on pytest, and what became of them as values and files.

``evaluate`` is what the command asks for, ``plugin`` what pytest loads; both come to ``items``, which hands a case to ``runner``.
``files`` reads eval files, ``add`` and ``case_files`` write them. What a case is and how it is judged is in ``lousho_cli.evals``;
this package may import that and the rest of ``app``. Pytest is loaded by ``closing``, ``items``, ``plugin`` and ``selecting``, and by
``faults`` once a case has gone wrong.
"""
