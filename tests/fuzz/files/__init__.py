"""Files of every kind, damaged by the thousand, and read as the product reads them.

`corpus` has small honest files of every kind, each with what reads it (`reads`). `mutants` makes the damaged file of a
seed and a number, by changes that know the format (`avro_changes`, `parquet_changes`, …). `judge` reads mutants in
processes of little memory and time: one ends with rows of the right types or with an error of ours that names a file,
or it is a finding. `campaign` is the command.
"""
