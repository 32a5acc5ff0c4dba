"""Places in a parsed plan as places in the statement that was written: what Spark's analyzer and its tasks say later is
found where the user wrote it, and shown in the user's words.

Each node of a plan has its origin in the text that Spark parsed. There are hundreds, so a class of the driver's JVM,
which Janino compiles, moves them all in one call.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.preprocess import Rewriting
from paimon_sql.spark.jvm.gateway import SQL, Jvm

_SOURCE = f"""
import java.lang.reflect.Field;
import java.util.*;
import scala.Option;
import scala.Product;
import scala.Some;
import {SQL}.catalyst.expressions.SupportQueryContext;
import {SQL}.catalyst.trees.*;

public class WrittenPlaces {{
  private static void set(Origin origin, String name, Object value) throws Exception {{
    Field field = Origin.class.getDeclaredField(name);
    field.setAccessible(true);
    field.set(origin, value);
  }}

  private static void move(Origin origin, String written, int[] edits) throws Exception {{
    int first = ((Integer) origin.startIndex().get()).intValue();
    int last = ((Integer) origin.stopIndex().get()).intValue();
    if (origin.positionMapper().isDefined()) {{ // parameters stand between the two texts
      {SQL}.catalyst.parser.PositionMapper mapper =
        ({SQL}.catalyst.parser.PositionMapper) origin.positionMapper().get();
      first = mapper.mapToOriginal(first);
      last = mapper.mapToOriginal(last);
      set(origin, "positionMapper", Option.empty());
    }}
    first = place(first, edits, false);
    last = place(last, edits, true);
    int begin = written.offsetByCodePoints(0, first);
    int behind = written.lastIndexOf('\\n', begin - 1) + 1;
    int line = 1;
    for (int i = 0; i < behind; i++) if (written.charAt(i) == '\\n') line++;
    set(origin, "line", new Some(Integer.valueOf(line)));
    set(origin, "startPosition", new Some(Integer.valueOf(written.codePointCount(behind, begin))));
    set(origin, "startIndex", new Some(Integer.valueOf(first)));
    set(origin, "stopIndex", new Some(Integer.valueOf(last)));
    set(origin, "sqlText", new Some(written));
    set(origin, "bitmap$0", Boolean.FALSE); // its context is made anew
  }}

  private static int place(int place, int[] edits, boolean last) {{
    int shift = 0;
    for (int i = 0; i < edits.length; i += 3) {{
      int start = edits[i], end = edits[i + 1], grown = edits[i + 2];
      if (place < start + shift) break;
      if (place < start + shift + grown) return last && end > start ? end - 1 : start;
      shift += grown - (end - start);
    }}
    return place - shift;
  }}

  public Object moved(Object plan, String parsed, String written, String encoded) throws Exception {{
    String[] numbers = encoded.split(" ");
    int[] edits = new int[numbers.length];
    for (int i = 0; i < edits.length; i++) edits[i] = Integer.parseInt(numbers[i]);
    Set seen = Collections.newSetFromMap(new IdentityHashMap());
    ArrayDeque todo = new ArrayDeque();
    todo.add(plan);
    while (!todo.isEmpty()) {{
      Object node = todo.poll();
      if (node instanceof TreeNode) {{
        Origin origin = ((TreeNode) node).origin();
        if (origin.sqlText().contains(parsed) && origin.stopIndex().isDefined() && seen.add(origin))
          move(origin, written, edits);
        if (node instanceof SupportQueryContext && ((SupportQueryContext) node).queryContext().isDefined())
          ((SupportQueryContext) node).queryContext_$eq(new Some(origin.context()));
      }}
      scala.collection.Iterator parts = null;
      if (node instanceof scala.collection.Iterable) parts = ((scala.collection.Iterable) node).iterator();
      else if (node instanceof Product) parts = ((Product) node).productIterator();
      while (parts != null && parts.hasNext()) {{
        Object part = parts.next();
        boolean isNested = part instanceof scala.collection.Iterable || part instanceof Product;
        if (isNested && !(part instanceof {SQL}.types.DataType) && seen.add(part)) todo.add(part);
      }}
    }}
    return plan;
  }}
}}
"""


def as_written(jvm: Jvm, plan: JavaObject, statement: Rewriting) -> Any:
    """The plan of a rewriting's text, its nodes at their places in what was written."""
    if not statement.edits:
        return plan
    numbers = " ".join(f"{start} {end} {grown}" for start, end, grown in statement.growths())
    return jvm.compiled("WrittenPlaces", _SOURCE).moved(plan, statement.text, statement.written, numbers)
