"""Metadata for readers of Iceberg, over the data files of a Paimon table.

    FOLDER/vN.metadata.json        schemas, partitions, the snapshots that readers can go back to; N is the snapshot's
    FOLDER/snap-N-UUID.avro        the manifests of snapshot N
    FOLDER/UUID-mK.avro            data files, with their partition and the bounds of their columns
    FOLDER/version-hint.text       the latest N

`follow` writes metadata for the table's latest snapshot, whatever has changed since the last call. So it handles an
interrupted commit, a rollback and a tag in the same way, and if one call is missed, the next commit makes up for it. It
continues the newest metadata of the table's history, and otherwise lists all files again. Two processes that follow at
once write the same metadata, and the first one counts.

Readers of Iceberg do not merge rows. So for keyed tables only the files of the last level are listed, which have each
key once: rows appear with the next full compaction.

Source: Iceberg's table specification, version 2; Paimon's "Iceberg Metadata" page.
"""
