"""Rules that a team writes itself: expressions of the settings file, and plug-ins in Python.

Nothing here is imported where the settings have none.
"""
