"""`listagg`: joined texts, without blank ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import int64_array
from paimon_core.dataclass import dataclass
from paimon_core.lsm.functions.steps import ADD_OLDER, SET, Mask, Steps, replaced, take_steps

# white space of both Unicode and Java; a no-break space is text
_BLANK = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)


@dataclass(frozen=True, slots=True)
class Listagg:
    """Joins texts with a delimiter between them; `distinct` leaves out repeated parts."""

    delimiter: str
    distinct: bool

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        texts = steps.narrowed(_has_text(column)[steps.rows])
        several = steps.counts(texts) > 1
        # A blank text stays if it replaced the value before, until another text follows.
        blank = steps.last(steps.narrowed(steps.is_op(SET, ADD_OLDER)))
        single = np.where(steps.last(texts) >= 0, steps.last(texts), blank)
        single = np.where(steps.sizes == 1, steps.starts, single)
        result = take_steps(column, steps, single)
        if not several.any():
            return result
        joined = texts & np.repeat(several, steps.sizes)
        join = self._distinct if self.distinct else self._joined
        return replaced(result, several, join(column, steps, joined))

    def _joined(self, column: pa.Array, steps: Steps, joined: Mask) -> pa.Array:
        positions = np.flatnonzero(joined)
        if steps.ops is not None:
            groups = np.repeat(np.arange(len(steps.starts)), steps.sizes)[positions]
            older = steps.is_op(ADD_OLDER)[positions]
            positions = positions[np.lexsort((np.where(older, -positions, positions), groups))]  # older texts go first
        counts = steps.counts(joined)
        offsets = np.append(0, np.cumsum(counts[counts > 0])).astype(np.int32)
        values = column.take(int64_array(steps.rows[positions]))
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        return pc.binary_join(lists, self.delimiter)

    def _distinct(self, column: pa.Array, steps: Steps, joined: Mask) -> pa.Array:
        """Join distinct texts, in a loop over the groups of several texts."""
        found = []
        for _, part in steps.groups_of(joined):
            text = ""
            older = steps.is_op(ADD_OLDER)[part].tolist()
            for value, before in zip(column.take(int64_array(steps.rows[part])).to_pylist(), older, strict=True):
                text = self._append(value, text) if before else self._append(text, value)
            found.append(text)
        return pa.array(found, column.type)

    def _append(self, text: str, more: str) -> str:
        if not text or not more:
            return text or more
        seen = set(self._parts(text))
        for part in self._parts(more):
            if part.strip(_BLANK) and part not in seen:
                seen.add(part)
                text += self.delimiter + part
        return text

    def _parts(self, text: str) -> list[str]:
        return text.split(self.delimiter) if self.delimiter else text.split()


def _has_text(column: pa.Array) -> Mask:
    trimmed = pc.utf8_trim(column, characters=_BLANK)
    found: Mask = pc.fill_null(pc.not_equal(trimmed, ""), False).to_numpy(zero_copy_only=False)
    return found
