"""A session as text for others: what was said and when (``subject``), and one file for each form it is written in.

``redacting`` takes texts out of records before anything is made of them, so that no form can forget to.
"""
