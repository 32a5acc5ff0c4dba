"""Users and their privileges in the files of a warehouse, in the form of Paimon's `FileBasedPrivilegeManager`.

`rules` has the rules without I/O, `accounts` the two tables of users and privileges. `catalog` checks the privileges
before it calls another catalog."""
