"""What is done on the server by functions: all that a session that is driven asks of it, and who looks for one.

The server plans what stands in a function once for a connection, also behind a pooler that bears no prepared statements; planned anew
each time, the same statements cost it two to ten times as much. A plan that was made while there were few logs must do for a
million, so it may be none that reads them all: one row is looked up by its key, several one after the other, and nothing is joined.
A function is never changed after a release: what a later version needs has another name, so that an older one goes on beside it.

May import ``hand`` alone.
"""

from __future__ import annotations

from lousho_cli.stores.postgres.functions import appending, claiming, finding, leaving, reading, resting

FUNCTIONS = (
    *(appending.APPEND_ONE, appending.APPEND_SOME),
    *(claiming.TAKE_FREE, claiming.GIVE_BACK, claiming.OWNER_OF),
    *(reading.READ_LOG, reading.END_OF, reading.SNAPSHOT_OF, reading.SAVE_SNAPSHOT, reading.HEADS_OF),
    *(resting.REST_OWN, resting.REST_FREE),
    *(leaving.PUT_POST, leaving.INBOX_OF, leaving.DISCARD),
    *(finding.FIND_WORK, finding.FREE_DEAD),
)
"""The statements that make them."""
