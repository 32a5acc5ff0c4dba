"""The redaction of catalogs' secrets in Spark's event log, its UI and the answer of SET.

Spark redacts a setting if its name or value matches the pattern `spark.redaction.regex`. Jobs have properties, too.
Spark redacts a property only if the context has a setting with the same name.
"""

from __future__ import annotations

from collections.abc import Iterable

from py4j.java_gateway import JavaObject

from paimon_core.secrets import REDACTED, SECRET_NAMES, is_secret, without_secrets
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.sessions import context_settings, settings_of
from paimon_sql.spark.session_bridge import CATALOG_PREFIX

PATTERN = "spark.redaction.regex"
DEFAULT = "(?i)secret|password|token|access[.]?key"  # Spark's own setting
# Spark also matches values of table properties, so the added pattern must not match a column's name
_OURS = (
    rf"(?i:(?:spark\.sql\.catalog|blob-descriptor|fsspec|s3a?|oss|fs|header|jdbc|dlf)\.\S*(?:{SECRET_NAMES})"
    rf"|://[^/?#@\s]*:[^/?#@\s]*@|[?&](?:sig|sas|key|auth|code|[^=&\s]*(?:{SECRET_NAMES})[^=&\s]*)=)"
)


def extended(pattern: str) -> str:
    """Return a pattern that also finds the secrets of Paimon catalogs."""
    return pattern if pattern.endswith(_OURS) else f"(?:{pattern})|{_OURS}"


def redact(jvm: Jvm, session: JavaObject, settings: Iterable[str]) -> None:
    """Extend the pattern in a session and its context, and add the names of secrets among `settings` to the context.
    Each setting is `spark.sql.catalog.NAME.OPTION=VALUE`. The context does not get the values, because new sessions
    inherit its settings.
    """
    context, own = context_settings(jvm), settings_of(session)
    context.set(PATTERN, extended(str(context.get(PATTERN, DEFAULT))))
    own.setConfString(PATTERN, extended(str(own.getConfString(PATTERN, DEFAULT))))
    for name, _, value in (setting.partition("=") for setting in settings):
        option = name.removeprefix(CATALOG_PREFIX).partition(".")[2]
        if is_secret(option) or without_secrets(value) != value:
            context.setIfMissing(name, REDACTED)
