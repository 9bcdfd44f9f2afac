"""Logs as plain files: one folder a session, one line a batch, no lock on the append path.

``store`` is the face; behind it one small module for each idea: ``layout`` (names, modes),
``scan`` (bytes to batches), ``reading``, ``owner_files`` and ``claims`` (who may write),
``append`` and ``sync`` (how a batch lands), ``heads``, ``inbox``, ``snapshots``, ``fsck``,
``repair``. May import ``ports``, ``core``, ``domain`` and ``errors``.
"""
