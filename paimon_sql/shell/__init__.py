"""The console shell: `paimon-sql -e`, `-f`, and a prompt. It uses only methods of the session, and does not import
PySpark.
"""
