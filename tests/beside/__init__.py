"""Other tools in one environment with us (`make campaign NAME=beside`): their imports, and a small project of each."""
