"""What every provider over HTTP shares: the connection, its settings, server-sent events, errors, and the loop that reads an answer.

A wire adds three things: the address, the body of a request, and a builder that folds the events of an answer.
"""
