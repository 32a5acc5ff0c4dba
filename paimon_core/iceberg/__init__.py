"""Metadata for readers of Iceberg, over the data files of a Paimon table.

    FOLDER/vN.metadata.json        schemas, partitions, the snapshots that readers can go back to; N is the snapshot's
    FOLDER/snap-N-UUID.avro        the manifests of snapshot N
    FOLDER/UUID-mK.avro            data files, with their partition and the bounds of their columns
    FOLDER/version-hint.text       the latest N

`follow` makes the latest metadata that of the table's latest snapshot, whatever happened since: so a commit that was
stopped before, a rollback and a tag are all followed the same way, and the next commit mends what one missed. It goes
on from the newest metadata where that is of this history, and lists all files anew otherwise. Two that follow at once
write the same, and the first one counts.

Readers of Iceberg take each row they find for one of the table. So of keyed tables only the files of the last level
are listed, in which a key is once: rows appear with the next full compaction.

Source: Iceberg's table specification, version 2; Paimon's "Iceberg Metadata" page.
"""
