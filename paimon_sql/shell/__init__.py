"""The console shell: `paimon-sql -e`, `-f`, and a prompt. It talks to a session by its methods and knows no PySpark."""
