"""The facts of Paimon's REST API that requests and answers are checked against: members, their types, and required
members.

This is stricter than the API's document, which requires nearly no member: these are the members that Java's client
reads. Source: `rest-catalog-open-api.yaml` of Paimon.
"""

from __future__ import annotations

from typing import Any

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "integer"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT}


def _some(kind: dict[str, Any]) -> dict[str, Any]:
    """Return the type with null allowed."""
    return {"anyOf": [kind, {"type": "null"}]}


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _object(required: dict[str, Any], **optional: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


_AUDIT = {"owner": _TEXT, "createdAt": _NUMBER, "createdBy": _TEXT, "updatedAt": _NUMBER, "updatedBy": _TEXT}
_IDENTIFIER = _object({"database": _TEXT, "object": _TEXT})
_TYPE = {"anyOf": [_TEXT, _object({"type": _TEXT})]}
_FIELD = _object({"id": _NUMBER, "name": _TEXT, "type": _TYPE}, description=_TEXT, defaultValue=_TEXT)
_SCHEMA = _object(
    {"fields": _list(_FIELD), "partitionKeys": _list(_TEXT), "primaryKeys": _list(_TEXT), "options": _TEXTS},
    comment=_TEXT,
)
_TABLE = _object(
    {"id": _TEXT, "name": _TEXT, "path": _TEXT, "isExternal": _FLAG, "schemaId": _NUMBER, "schema": _SCHEMA},
    database=_TEXT,
    **_AUDIT,
)
_VIEW_SCHEMA = _object({"fields": _list(_FIELD), "query": _TEXT, "dialects": _TEXTS, "options": _TEXTS}, comment=_TEXT)
_FUNCTION = {
    "deterministic": _FLAG,
    "definitions": {"type": "object", "additionalProperties": _object({"type": _TEXT})},
}
_NAMED_FUNCTION = _object(
    {"uuid": _TEXT, "name": _TEXT, **_FUNCTION}, inputParams=_list(_FIELD), returnParams=_list(_FIELD), **_AUDIT
)
_VIEW = _object({"id": _TEXT, "name": _TEXT, "schema": _VIEW_SCHEMA}, **_AUDIT)
_SNAPSHOT = _object(
    {
        "id": _NUMBER,
        "schemaId": _NUMBER,
        "baseManifestList": _TEXT,
        "deltaManifestList": _TEXT,
        "commitUser": _TEXT,
        "commitIdentifier": _NUMBER,
        "timeMillis": _NUMBER,
        "totalRecordCount": _NUMBER,
        "commitKind": {"enum": ["APPEND", "COMPACT", "OVERWRITE", "ANALYZE"]},
    },
    uuid=_TEXT,
    properties=_TEXTS,
)
_COUNTS = {"recordCount": _NUMBER, "fileSizeInBytes": _NUMBER, "fileCount": _NUMBER, "lastFileCreationTime": _NUMBER}
_PARTITION = _object({"spec": _TEXTS, **_COUNTS}, totalBuckets=_NUMBER, done=_FLAG)
_MOVE = _object({"fieldName": _TEXT, "type": {"enum": ["FIRST", "LAST", "BEFORE", "AFTER"]}}, referenceFieldName=_TEXT)
_PATH = {"fieldNames": _list(_TEXT)}


def _action(name: str, required: dict[str, Any], **optional: dict[str, Any]) -> dict[str, Any]:
    return _object({"action": {"const": name}, **required}, **optional)


_CHANGE = {
    "anyOf": [
        _action("setOption", {"key": _TEXT, "value": _TEXT}),
        _action("removeOption", {"key": _TEXT}),
        _action("updateComment", {"comment": _some(_TEXT)}),
        _action("addColumn", {**_PATH, "dataType": _TYPE}, comment=_TEXT, move=_MOVE),
        _action("renameColumn", {**_PATH, "newName": _TEXT}),
        _action("dropColumn", _PATH),
        _action("updateColumnType", {**_PATH, "newDataType": _TYPE, "keepNullability": _FLAG}),
        _action("updateColumnNullability", {**_PATH, "newNullability": _FLAG}),
        _action("updateColumnComment", _PATH, newComment=_TEXT),
        _action("updateColumnDefaultValue", _PATH, newDefaultValue=_TEXT),
        _action("updateColumnPosition", {"move": _MOVE}),
    ]
}
_RESOURCES = ["DATABASE", "TABLE", "PARTITION", "COLUMN", "SNAPSHOT", "BRANCH", "TAG", "VIEW", "DIALECT", "FUNCTION"]
ERROR = _object(
    {"message": _TEXT, "code": _NUMBER, "resourceType": {"enum": [*_RESOURCES, "DEFINITION", "UNKNOWN", None]}},
    resourceName=_some(_TEXT),
)


def _page(key: str, of: dict[str, Any]) -> dict[str, Any]:
    return _object({key: _list(of), "nextPageToken": _some(_TEXT)})  # pypaimon needs it on the last page, too


_T, _NONE = "/databases/*/tables/*", {"maxProperties": 0}
_CREATE_TAG = _object({"tagName": _TEXT}, snapshotId=_some(_NUMBER), timeRetained=_some(_TEXT))
# by method and address after the prefix: the members of the request and of the answer
API: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {
    ("GET", "/config"): (_NONE, _object({"defaults": _TEXTS, "overrides": _TEXTS})),
    ("GET", "/databases"): (_NONE, _page("databases", _TEXT)),
    ("POST", "/databases"): (_object({"name": _TEXT, "options": _TEXTS}), _NONE),
    ("GET", "/databases/*"): (
        _NONE,
        _object({"id": _TEXT, "name": _TEXT, "location": _TEXT, "options": _TEXTS}, **_AUDIT),
    ),
    ("POST", "/databases/*"): (
        _object({"removals": _list(_TEXT), "updates": _TEXTS}),
        _object({"removed": _list(_TEXT), "updated": _list(_TEXT), "missing": _list(_TEXT)}),
    ),
    ("DELETE", "/databases/*"): (_NONE, _NONE),
    ("POST", "/databases/*/register"): (_object({"identifier": _IDENTIFIER, "path": _TEXT}), _NONE),
    ("GET", "/databases/*/tables"): (_NONE, _page("tables", _TEXT)),
    ("POST", "/databases/*/tables"): (_object({"identifier": _IDENTIFIER, "schema": _SCHEMA}), _NONE),
    ("GET", "/databases/*/table-details"): (_NONE, _page("tableDetails", _TABLE)),
    ("GET", "/tables"): (_NONE, _page("tables", _IDENTIFIER)),
    ("GET", "/tables/id/*"): (_NONE, _TABLE),
    ("GET", _T): (_NONE, _TABLE),
    ("POST", _T): (_object({"changes": _list(_CHANGE)}), _NONE),
    ("DELETE", _T): (_NONE, _NONE),
    ("POST", f"{_T}/replace"): (_object({"schema": _SCHEMA}), _NONE),
    ("POST", "/tables/rename"): (_object({"source": _IDENTIFIER, "destination": _IDENTIFIER}), _NONE),
    ("POST", f"{_T}/commit"): (
        _object(
            {"tableId": _some(_TEXT), "snapshot": _SNAPSHOT, "statistics": _list(_object({"spec": _TEXTS, **_COUNTS}))},
            baseSnapshotUuid=_some(_TEXT),
        ),
        _object({"success": _FLAG}),
    ),
    ("POST", f"{_T}/rollback"): (
        _object({"instant": _object({"type": _TEXT})}, fromSnapshot=_some(_NUMBER)),
        _NONE,
    ),
    ("GET", f"{_T}/snapshot"): (_NONE, _object({"snapshot": _object({"snapshot": _SNAPSHOT, **_COUNTS})})),
    ("GET", f"{_T}/snapshots/*"): (_NONE, _object({"snapshot": _SNAPSHOT})),
    ("GET", f"{_T}/snapshots"): (_NONE, _page("snapshots", _SNAPSHOT)),
    ("GET", f"{_T}/partitions"): (_NONE, _page("partitions", _PARTITION)),
    ("POST", f"{_T}/partitions/list-by-names"): (_object({"specs": _list(_TEXTS)}), _page("partitions", _PARTITION)),
    ("POST", f"{_T}/partitions/mark"): (_object({"specs": _list(_TEXTS)}), _NONE),
    ("GET", f"{_T}/branches"): (_NONE, _object({"branches": _list(_TEXT)})),
    ("POST", f"{_T}/branches"): (_object({"branch": _TEXT}, fromTag=_some(_TEXT)), _NONE),
    ("DELETE", f"{_T}/branches/*"): (_NONE, _NONE),
    ("POST", f"{_T}/branches/*/rename"): (_object({"toBranch": _TEXT}), _NONE),
    ("POST", f"{_T}/branches/*/forward"): ({}, _NONE),
    ("GET", f"{_T}/tags"): (_NONE, _page("tags", _TEXT)),
    ("POST", f"{_T}/tags"): (_CREATE_TAG, _NONE),
    ("GET", f"{_T}/tags/*"): (_NONE, _object({"tagName": _TEXT, "snapshot": _SNAPSHOT}, tagTimeRetained=_some(_TEXT))),
    ("DELETE", f"{_T}/tags/*"): (_NONE, _NONE),
    ("GET", f"{_T}/consumers"): (_NONE, _page("consumers", _object({"consumerId": _TEXT, "nextSnapshot": _NUMBER}))),
    ("POST", f"{_T}/consumers/reset"): (_object({"consumerId": _TEXT}, nextSnapshotId=_NUMBER), _NONE),
    ("GET", "/databases/*/views"): (_NONE, _page("views", _TEXT)),
    ("POST", "/databases/*/views"): (_object({"identifier": _IDENTIFIER, "schema": _VIEW_SCHEMA}), _NONE),
    ("GET", "/databases/*/view-details"): (_NONE, _page("viewDetails", _VIEW)),
    ("GET", "/views"): (_NONE, _page("views", _IDENTIFIER)),
    ("GET", "/databases/*/views/*"): (_NONE, _VIEW),
    ("POST", "/databases/*/views/*"): (_object({"changes": _list(_object({"action": _TEXT}))}), _NONE),
    ("DELETE", "/databases/*/views/*"): (_NONE, _NONE),
    ("GET", "/databases/*/functions"): (_NONE, _page("functions", _TEXT)),
    ("POST", "/databases/*/functions"): (_object({"name": _TEXT, **_FUNCTION}), _NONE),
    ("GET", "/databases/*/function-details"): (_NONE, _page("functionDetails", _NAMED_FUNCTION)),
    ("GET", "/functions"): (_NONE, _page("functions", _IDENTIFIER)),
    ("GET", "/databases/*/functions/*"): (_NONE, _NAMED_FUNCTION),
    ("POST", "/databases/*/functions/*"): (_object({"changes": _list(_object({"action": _TEXT}))}), _NONE),
    ("DELETE", "/databases/*/functions/*"): (_NONE, _NONE),
    ("POST", "/views/rename"): (_object({"source": _IDENTIFIER, "destination": _IDENTIFIER}), _NONE),
}


def operation(method: str, path: str) -> tuple[str, str]:
    """The operation of an address such as `/v1/paimon/databases/db`."""
    parts = path.split("?")[0].strip("/").split("/")
    rest = parts[1:] if parts[1:] == ["config"] else parts[2:]
    for known, pattern in API:
        wanted = pattern.strip("/").split("/")
        if (
            known == method
            and len(wanted) == len(rest)
            and all(w in ("*", r) for w, r in zip(wanted, rest, strict=True))
        ):
            return known, pattern
    raise AssertionError(f"{method} {path} is none of the API")
