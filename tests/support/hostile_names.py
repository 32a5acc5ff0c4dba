"""Names that lead elsewhere, look like others, or have a meaning for programs that print, quote, match or run them.

They are grouped by their purpose. They are not specific to a position: tests try the same names for tables, columns,
tags, values, files in metadata, arguments of procedures and so on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from zlib import crc32

NAMES_BY_KIND: dict[str, tuple[str, ...]] = {
    "other folders": (
        *("..", ".", "", " ", "/", "//", "\\", "a/b", "../x", "../../outside/x", "/etc/passwd", "/tmp/x", "./a", "a/."),
        *("a/..", "a/../..", "..\\..\\x", "\\\\host\\share", "a\\b", "...", "....//", "..;/x", "~", "~root", "~/x"),
        *(
            "file:///etc/passwd",
            "file:/etc",
            "s3://bucket/key",
            "http://127.0.0.1/x",
            "memory://x/y",
            "C:\\x",
            "C:",
            "-",
        ),
    ),
    "escapes of paths": (
        *("%2e%2e%2f", "%2e%2e", "..%2f..%2fx", "%252e%252e%252f", "%00", "%", "%%", "%zz", "%2F", "a%2fb", "%C0%AF"),
        *("%5c..%5c", "a+b", "&#46;&#46;", "\\u002e\\u002e", "\\x2e\\x2e", "=2E=2E", "a%20b", "%23", "%3F"),
    ),
    "control characters": (
        *("\0", "a\0b", "..\0", "a\nb", "\n", "a\r\nb", "\t", "a\tb", "\x7f", "a\x01b", "\x1f", "a\x85b", "a\u2028b"),
        *("a\u2029b", "a\x0bb", "a\x08\x08b"),
    ),
    "lengths": (
        *(
            "a" * 200,
            "a" * 201,
            "a" * 255,
            "a" * 256,
            "a" * 300,
            "a" * 5000,
            "ö" * 100,
            "ö" * 101,
            "日" * 66,
            "日" * 67,
        ),
        *("\U0001f680" * 50, "\U0001f680" * 51),
    ),
    "look-alikes": (
        *(
            "a\uff0fb",
            "\uff0e\uff0e",
            "\uff0e\uff0e\uff0fx",
            "a\u2215b",
            "a\u2044b",
            "a\u29f8b",
            "\u2024\u2024",
            "\u2026",
        ),
        *("a\uff3cb", "\u202egpj.elbat", "a\u200bb", "\u200b", "a\u2060", "\ufefft", "a\u00a0", "\u3000a", "\u00adt"),
        *(
            "caf\u00e9",
            "cafe\u0301",
            "\uac00",
            "\u1100\u1161",
            "\u212b",
            "\u00c5",
            "A\u030a",
            "\ufb01le",
            "\u0131",
            "I",
        ),
        *(
            "\u0130",
            "ß",
            "SS",
            "t\u0430ble",
            "\U0001f469\u200d\U0001f4bb",
            "\udc80",
            "\ud800x",
            "a\ufffd",
            "Z\u0351\u036b\u0343",
        ),
    ),
    "marks of ours": (
        *(
            "$",
            "$$",
            "a$",
            "$snapshots",
            "a$snapshots",
            "a$branch_x",
            "a$branch_../x",
            "a$b$c",
            "a$branch_",
            "$branch_x",
        ),
        *("#", "a#b", "?", "a?b=c", "*", "a*", "[a]", "{a,b}", "{}", ":", "a:b", "=", "k=v", "a=b=c", ",", "a,b", ";"),
        *("a|b", "&", "a@b", "@", "!", "^", "(", "a.b.c", "." * 5 + "a", "a.b" * 30, ".a", "a.", ".hidden"),
    ),
    "names of Windows": ("CON", "nul", "COM1", "a.txt.", "a ", " a", "a:stream", "LPT1.txt"),
    "paths of ours": (
        *("schema", "snapshot", "tag", "bucket-0", "snapshot-1", "EARLIEST", "manifest", "schema-0", "branch", "main"),
        *("x.db", "_temporary", ".t.0123456789abcdef0123456789abcdef.tmp", "--help", "-rf", "__DEFAULT_PARTITION__"),
    ),
    "SQL": (
        *("'; DROP TABLE t --", "`", "``", "a`b", '"', "'", "''", "/* x", "*/", "-- x", "1", "-1", "NULL", "select"),
        *("' OR '1'='1", "t) UNION SELECT 1 --", "\\'", "a;b"),
    ),
    "templates": (
        "${env:HOME}",
        "${HOME}",
        "$(id)",
        "`id`",
        "{{ 7*7 }}",
        "%s%n",
        "{0}",
        "{0.__class__}",
        "\\1",
        "(a+)+$",
    ),
    "markup": ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;", "]]>", "=cmd|' /C calc'!A0"),
    "terminals": (
        *("\x1b[31mred", "\x1b[2J", "\x1b]8;;http://evil\x07x\x1b]8;;\x07", "\x1b]52;c;ZXZpbA==\x07", "\x07", "a\rb"),
        *("\x9b31m", "\x9d52;c;ZXZpbA==\x9c"),
    ),
}
HOSTILE_NAMES: tuple[str, ...] = tuple(name for names in NAMES_BY_KIND.values() for name in names)

# every name that UTF-8 can spell: only Python accepts half of a surrogate pair in a text
SPELLABLE_NAMES = tuple(n for n in HOSTILE_NAMES if n == n.encode("utf-8", "replace").decode())
_ALL = os.environ.get("PAIMON_SQL_HOSTILE_NAMES") == "all"


def some(names: Sequence[str], position: object, share: int = 16) -> Sequence[str]:
    """Return one of `share` names, others for each position, so that every name is tried in some position.

    Return all of them if the environment has `PAIMON_SQL_HOSTILE_NAMES=all`.
    """
    share = 1 if _ALL else share
    return names[crc32(str(position).encode()) % share :: share]
