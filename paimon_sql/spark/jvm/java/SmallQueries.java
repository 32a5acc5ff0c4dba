import java.util.*;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/** Rows of small queries of MERGE, DELETE and UPDATE, and the values that they require of columns of the target. */
public class SmallQueries {
  private static final String CHAR = "__CHAR_VARCHAR_TYPE_STRING";  // in metadata of CHAR and VARCHAR columns

  /** Returns the rows of a query, null if they are not few: if statistics expect more than `bytes`, or more bytes or more than
   *  `most` rows come, or if the query fails. `limited` is the query with a limit of one row more. Without `runs`, rows that
   *  are not in the plan are not fetched. */
  public Object rows(Dataset query, Dataset limited, long bytes, int most, boolean runs) {
    try {
      LogicalPlan plan = query.queryExecution().optimizedPlan();
      if (!plan.stats().sizeInBytes().isValidLong() || plan.stats().sizeInBytes().toLong() > bytes) return null;
      if (plan instanceof LocalRelation) {
        scala.collection.immutable.Seq known = ((LocalRelation) plan).data();
        return known.size() > most ? null : known;
      }
      return runs ? fetched(limited.queryExecution(), bytes, most) : null;
    } catch (Exception e) {  // perhaps in a column that the statement does not use
      if (isCancelled(e)) Platform.throwException(e);
      return null;
    }
  }

  private static Object fetched(final QueryExecution execution, final long bytes, final int most) {
    return SQLExecution$.MODULE$.withNewExecutionId(execution, Option.apply("few rows"), new AbstractFunction0() {
      public Object apply() {
        List found = new ArrayList();
        long size = 0;
        for (scala.collection.Iterator it = execution.executedPlan().executeToIterator(); it.hasNext();) {
          InternalRow row = (InternalRow) it.next();
          size += row instanceof UnsafeRow ? ((UnsafeRow) row).getSizeInBytes() : 0;
          if (found.size() == most || size > bytes) return null;
          found.add(row.copy());
        }
        return CollectionConverters.asScala(found).toSeq();
      }
    });
  }

  private static boolean isCancelled(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof InterruptedException) return true;
      if (cause instanceof SparkThrowable && "SPARK_JOB_CANCELLED".equals(((SparkThrowable) cause).getCondition())) return true;
    }
    return false;
  }

  /** Returns a condition that each row of the left side of a join fulfills if it matches a row of the right side, a relation
   *  of the driver. Returns null if the join's condition does not lead to one. A column gets at most `most` values. */
  public Expression ofTarget(LogicalPlan plan, int most) {
    if (!(plan instanceof Join) || !(((Join) plan).right() instanceof LocalRelation)) return null;
    Join join = (Join) plan;
    LocalRelation source = (LocalRelation) join.right();
    Expression all = null;
    if (join.condition().isEmpty()) return null;
    for (Iterator it = conjuncts((Expression) join.condition().get()).iterator(); it.hasNext();) {
      Object part = it.next();
      if (!(part instanceof EqualTo || part instanceof EqualNullSafe)) continue;
      BinaryComparison equal = (BinaryComparison) part;
      Expression left = (Expression) equal.left(), right = (Expression) equal.right();
      Expression found = required(equal, left, right, join, source, most);
      if (found == null) found = required(equal, right, left, join, source, most);
      if (found != null) all = all == null ? found : new And(all, found);
    }
    return all;
  }

  /** The parts of a condition that AND joins, in order. */
  private static List conjuncts(Expression condition) {
    if (!(condition instanceof And)) return Collections.singletonList(condition);
    List found = new ArrayList(conjuncts((Expression) ((And) condition).left()));
    found.addAll(conjuncts((Expression) ((And) condition).right()));
    return found;
  }

  private static Expression required(
      BinaryComparison equal, Expression column, Expression value, Join join, LocalRelation source, int most) {
    if (!isStored(column) || !column.references().subsetOf(join.left().outputSet())) return null;
    if (value.references().isEmpty() || !value.references().subsetOf(source.outputSet())) return null;
    boolean isMoment = value.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE());  // the query has another one
    if (isMoment || !value.deterministic() || !isPlain(value.dataType())) return null;
    if (!column.dataType().equals(value.dataType())) return null;
    Values values = Values.of(value, source);
    if (values == null) return null;
    Expression found = among(column, values.sorted, most);
    return values.hasNull && equal instanceof EqualNullSafe ? new Or(found, new IsNull(column)) : found;
  }

  /** The values of an expression in rows of the driver: those that are not NULL, and whether one is NULL. */
  static class Values {
    final TreeSet sorted;
    boolean hasNull;

    private Values(DataType type) { sorted = new TreeSet(TypeUtils$.MODULE$.getInterpretedOrdering(type)); }

    /** Returns null if only a query evaluates the expression, or if a value loses its bytes on the way to Python. */
    static Values of(Expression value, LocalRelation source) {
      Values found = new Values(value.dataType());
      try {
        Expression bound = BindReferences.bindReference(value, package$.MODULE$.AttributeSeq(source.output()), false);
        Iterator rows = CollectionConverters.asJava((scala.collection.Iterable) source.data()).iterator();
        while (rows.hasNext()) {
          Object each = bound.eval((InternalRow) rows.next());
          if (each == null) found.hasNull = true;
          else if (each instanceof UTF8String && !((UTF8String) each).isValid()) return null;
          else found.sorted.add(InternalRow.copyValue(each));
        }
      } catch (Throwable e) {
        if (e instanceof VirtualMachineError) Platform.throwException(e);
        return null;  // the query raises the error, if it needs the value
      }
      return found;
    }
  }

  private static Expression among(Expression column, TreeSet values, int most) {
    DataType type = column.dataType();
    if (values.isEmpty()) return new Literal(Boolean.FALSE, DataTypes.BooleanType);
    if (values.size() > most) {
      Expression least = new GreaterThanOrEqual(column, new Literal(values.first(), type));
      return new And(least, new LessThanOrEqual(column, new Literal(values.last(), type)));
    }
    List literals = new ArrayList();
    for (Iterator it = values.iterator(); it.hasNext();) literals.add(new Literal(it.next(), type));
    return new In(column, CollectionConverters.asScala(literals).toSeq());
  }

  /** Returns the parts of a condition that require a value to be among the rows of a query, `a IN (SELECT b …)`. */
  public Object[] queries(Expression condition) {
    List found = new ArrayList();
    for (Iterator it = conjuncts(condition).iterator(); it.hasNext();) {
      Object part = it.next();
      if (!(part instanceof InSubquery)) continue;
      ListQuery query = ((InSubquery) part).query();
      boolean isOne = ((InSubquery) part).values().size() == 1 && query.plan().output().size() == 1;
      if (isOne && !query.isCorrelated() && isPlain(query.dataType())) found.add(part);
    }
    return found.toArray();
  }

  /** Returns the rows of a query in place of the query, and a condition that they set for a column. */
  public Expression withRows(Expression condition, Expression query, LocalRelation rows, int most) {
    if (condition instanceof And) {
      Expression left = (Expression) ((And) condition).left(), right = (Expression) ((And) condition).right();
      return new And(withRows(left, query, rows, most), withRows(right, query, rows, most));
    }
    if (condition != query) return condition;
    InSubquery found = (InSubquery) query;
    Expression value = (Expression) found.values().head();
    List parts = new ArrayList();
    parts.add(value);
    parts.add(found.query().withNewPlan(rows));
    Expression known = (Expression) found.withNewChildren(CollectionConverters.asScala(parts).toSeq());
    Attribute given = (Attribute) rows.output().head();
    if (!isStored(value) || !value.dataType().equals(given.dataType())) return known;
    Values values = Values.of(given, rows);
    return values == null ? known : new And(among(value, values.sorted, most), known);
  }

  /** Whether an expression is a column, or a column in a wider type, which never fails. Spark pads constants that are compared
   *  with CHAR columns, so that these would equal other values. */
  private static boolean isStored(Expression column) {
    if (column instanceof Cast) {
      Expression child = (Expression) ((Cast) column).child();
      return Cast.canUpCast(child.dataType(), column.dataType()) && child instanceof AttributeReference && isStored(child);
    }
    return column instanceof AttributeReference && !((AttributeReference) column).metadata().contains(CHAR);
  }

  /** Whether values of a type are equal exactly if they compare as equal, and can be values of IN. */
  private static boolean isPlain(DataType type) {
    return type instanceof IntegralType || type instanceof DecimalType || type instanceof DateType
      || type instanceof TimestampType || type instanceof TimestampNTZType || type.equals(DataTypes.StringType);
  }
}
