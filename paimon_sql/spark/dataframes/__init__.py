"""Extensions of PySpark's readers, writers and sessions: functions of this package that run before
PySpark's methods.
"""
