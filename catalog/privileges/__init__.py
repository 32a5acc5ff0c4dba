"""Users and their privileges in the files of a warehouse, as Paimon's `FileBasedPrivilegeManager` has them: `rules` are
pure, `accounts` are the two tables, `catalog` checks them before it calls another catalog."""
