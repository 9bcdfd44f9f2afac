"""A simulation of many hosts over one PostgreSQL: see ``simulate.py``."""
